"""Lines that are too long are broken inside a bracket that they have, the last one if that will do: at commas, else at
the operator that binds least. Each row is filled, and begins below the bracket where that makes fewer of them, since
one member a row would make a short program look long. What no single bracket helps gets parentheses of its own, if it
is wider than `LIMIT`, or is broken in several brackets. Of a string that is wider several are made.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from shrinkray_gpu.reduction.native.code import may_hold_code
from shrinkray_gpu.source.logical_lines import CLOSE, OPEN, kind, partners, read

WIDTH = 100
LIMIT = 120
WIDER = (LIMIT, 160, 1 << 30)
"""Where lines of that width are too many."""

SHORTEST = 20
"""Characters of a part of a string."""
_STRING = re.compile(r"""((?:\w+=)?)([bB]?)(["'])((?:(?!\3)[^\\\n])+)\3(,?)""")
"""One that may be cut anywhere, the name of its argument before it, and a comma behind it."""

_LEVELS = (
    {"for", "async"},
    {","},
    {"if", "else"},
    {"or"},
    {"and"},
    {"in", "is", "<", ">", "==", "!=", "<=", ">="},
    {"|", "^", "&", "<<", ">>"},
    {"+", "-"},
    {"*", "/", "//", "%", "@"},
    {"**"},
    {""},
    {"."},
)
"""Where a line may be broken inside a bracket, the operator that binds least first; "" is between two strings. Of dots,
those behind a bracket."""
_BINARY = {"+", "-", "*", "**"}
"""These may stand before an operand alone, too."""
_HEADS = {"if": "", "elif": "", "while": "", "return": "", "assert": "", "raise": "", "for": "in", "from": "import"}
"""Statements of which what follows may be put into parentheses, and the word behind which that begins."""
_ASSIGNS = {"=", "+=", "-=", "*=", "/=", "//=", "%=", "@=", "&=", "|=", "^=", ">>=", "<<=", "**="}


class _Word(NamedTuple):
    text: str
    start: int
    end: int
    depth: int
    """Of brackets. What a lambda takes is one deeper than the lambda."""


class _Rows(NamedTuple):
    rows: tuple[str, ...]
    price: int = 0
    """1 for parentheses that were not there; 2 for each bracket beside the first."""


def wrap_lines(text: str, width: int = WIDTH) -> str:
    """The text with its long lines broken; those that hold a comment, or are broken already, stay."""
    found: list[str] = []
    end = 0
    for line in read(text):
        written = text[line.start : line.end].rstrip("\n")
        code = text[line.spans[0][0] : line.spans[-1][1]]
        if len(written) > width and "\n" not in written and written.endswith(code):
            rows = _rows(code, len(written) - len(code), width, False).rows
            found += [text[end : line.start], "\n".join(rows), text[line.start + len(written) : line.end]]
            end = line.end
    return "".join([*found, text[end:]])


@lru_cache(maxsize=1 << 12)
def _rows(code: str, indent: int, width: int, inside: bool) -> _Rows:
    """The best way to write this at an indentation. `inside`: a bracket around it lets it be broken anywhere."""
    whole = _Rows((f"{' ' * indent}{code}",))
    if indent + len(code) <= width:
        return whole

    def worth(each: _Rows) -> tuple[int, int, int, int]:
        widest = max(map(len, each.rows))
        return max(0, widest - max(width, LIMIT)), each.price, max(0, widest - width), len(each.rows)

    return min((*_ways(code, indent, width, inside), whole), key=worth)


def _ways(code: str, indent: int, width: int, inside: bool) -> Iterator[_Rows]:
    words = _words(code)
    if inside and (pieces := _pieces(code, indent, width)):
        yield _Rows(tuple(f"{' ' * indent}{piece}" for piece in pieces))
    if inside and (breaks := _breaks(words)):
        filled = _filled(code, breaks, width - indent)
        yield _together(*(_rows(row, indent, width, True) for row in filled))
        if code[breaks[0] - 1] == ",":
            return
    pairs = _brackets(words)
    for pair in dict.fromkeys([*pairs[-1:], *sorted(pairs, key=lambda pair: pair[0] - pair[1])[:1]]):
        yield _held(code, *pair, indent, width, inside)
        yield from _hung(code, *pair, indent, width)
    if not inside and code[-1] not in OPEN and (bare := _bare(code, words)) is not None:
        start, end = bare
        held = _rows(code[start:end], indent + 4, width, True)
        margin = " " * indent
        yield _Rows((f"{margin}{code[:start]}(", *held.rows, f"{margin}){code[end:]}"), held.price + 1)


def _pieces(code: str, indent: int, width: int) -> list[str]:
    """The string as several, cut behind blanks where it has some; none where it fits, or is none that may be cut. C++
    in a string stays whole for whoever looks for it."""
    found = _STRING.fullmatch(code)
    if found is None or indent + len(code) <= max(width, LIMIT) or may_hold_code(code):
        return []
    name, prefix, quote, text, comma = found.groups()
    room = width - indent - len(name) - len(prefix) - 2 * len(quote) - len(comma)
    pieces = []
    while text and room >= SHORTEST:
        cut = len(text) if len(text) <= room else text.rfind(" ", 0, room) + 1 or room
        pieces.append(f"{prefix}{quote}{text[:cut]}{quote}")
        text = text[cut:]
    return [f"{name}{pieces[0]}", *pieces[1:-1], f"{pieces[-1]}{comma}"] if len(pieces) > 1 else []


def _held(code: str, opening: int, closing: int, indent: int, width: int, inside: bool) -> _Rows:
    """Broken inside one bracket; what is before or behind it in others too, where it must be."""
    head = _rows(code[: opening + 1], indent, width, inside)
    tail = _rows(code[closing:], indent, width, inside)
    more = 2 * ((len(head.rows) > 1) + (len(tail.rows) > 1))
    found = _together(head, _rows(code[opening + 1 : closing].strip(), indent + 4, width, True), tail)
    return found._replace(price=found.price + more)


def _hung(code: str, opening: int, closing: int, indent: int, width: int) -> Iterator[_Rows]:
    """Broken inside one bracket, whose rows begin where it opens; the last of them holds what is behind it."""
    head, tail = code[: opening + 1], code[closing:]
    found = _rows(code[opening + 1 : closing].strip(), indent + len(head), width, True)
    first, last = f"{' ' * indent}{head}{found.rows[0].lstrip()}", found.rows[-1] + tail
    if len(found.rows) > 1 and len(last) <= width:
        yield found._replace(rows=(first, *found.rows[1:-1], last))


def _together(*parts: _Rows) -> _Rows:
    return _Rows(tuple(row for part in parts for row in part.rows), sum(part.price for part in parts))


def _words(code: str) -> list[_Word]:
    found: list[_Word] = []
    depth = 0
    lambdas: list[int] = []
    for line in read(code):
        for word, (start, end) in zip(line.words, line.spans):
            if word in CLOSE or (word == ":" and lambdas and lambdas[-1] == depth):
                if word == ":":
                    lambdas.pop()
                depth = max(0, depth - 1)  # a tail begins with the bracket that closes
            found.append(_Word(word, start, end, depth))
            if word in OPEN or word == "lambda":
                depth += 1
                if word == "lambda":
                    lambdas.append(depth)
    return found


def _brackets(words: Sequence[_Word]) -> list[tuple[int, int]]:
    """The bracket pairs that nothing encloses, and that hold something worth a line."""
    pairs = partners([word.text for word in words])
    found = [(words[a].start, words[b].start) for a, b in pairs.items() if a < b and words[a].depth == 0]
    return [(opening, closing) for opening, closing in sorted(found) if closing - opening > 8]


def _breaks(words: Sequence[_Word]) -> list[int]:
    """The places at which this may be broken inside a bracket, all of one level."""
    outer = [(at, word) for at, word in enumerate(words) if word.depth == 0]
    generated = any(word.text == "for" for _, word in outer)
    for level in _LEVELS:
        if generated and level & {",", "in"}:
            continue  # what `for` names, and what it goes over
        found = [_place(words, at) for at, word in outer if at and _parts(words, at, level)]
        found = [place for place in found if 0 < place < words[-1].end]
        if found:
            return found
    return []


def _parts(words: Sequence[_Word], at: int, level: set[str]) -> bool:
    word, before = words[at].text, words[at - 1].text
    if level == {""}:
        return word[-1] in "\"'" and before[-1] in "\"'"
    if word == ".":
        return word in level and before in CLOSE
    operand = before in CLOSE or kind(before) != "mark"
    return word in level and (operand or word not in _BINARY)


def _place(words: Sequence[_Word], at: int) -> int:
    """Behind a comma, before an operator, and before `not in`."""
    if words[at].text == ",":
        return words[at].end
    return words[at - 1].start if words[at].text == "in" and words[at - 1].text == "not" else words[at].start


def _filled(code: str, breaks: Sequence[int], width: int) -> Iterator[str]:
    """As many parts a row as fit."""
    begin = last = 0
    for place in (*breaks, len(code)):
        if last > begin and len(code[begin:place].strip()) > width:
            yield code[begin:last].strip()
            begin = last
        last = place
    yield code[begin:].strip()


def _bare(code: str, words: Sequence[_Word]) -> tuple[int, int] | None:
    """Where the expression is of a statement that may be put into parentheses and has a place to be broken at."""
    outer = [word for word in words if word.depth == 0]
    first = outer[0].text
    if first in _HEADS:
        begin = [word.end for word in outer if word.text == (_HEADS[first] or first)][:1]
    elif kind(first) == "mark" and first not in ("(", "[", "{") or outer[-1].text == ":":
        return None
    else:
        begin = [word.end for word in outer if word.text in _ASSIGNS][-1:] or [0]
    ends = [word.start for word in outer if word.text == ":" and word is outer[-1]]
    ends += [word.start for word in outer if word.text == "," and first == "assert"]
    start, end = begin[0] if begin else 0, min([*ends, len(code)])
    start += len(code[start:end]) - len(code[start:end].lstrip())
    held = [word for word in words if start <= word.start < end]
    string = start > 0 and len(held) == 1 and _STRING.fullmatch(held[0].text) is not None
    return (start, end) if begin and held and (string or _breaks(held)) else None

"""How big a Program is: a total order, so that of two Programs one is always the better repro.

First comes the guard level: what may make a program undefined by itself. A pass that drops a mask or an initialisation
makes the text shorter and the repro worth less, so that counts as growth.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple


class Size(NamedTuple):
    """Compared from left to right. `literals` is in thousandths of a bit, so that no rounding makes two orders differ."""

    guards: int
    tokens: int
    loops: int
    literals: int
    characters: int


_TOKEN = re.compile(
    r"""
    (?P<skip>\#[^\n]*|\\\r?\n|\s+)
  | (?P<string>(?i:[rbfut]{0,2})(?:'{3}(?:\\.|[^\\])*?'{3}|"{3}(?:\\.|[^\\])*?"{3}
        |'(?:\\.|[^\\'\n])*'|"(?:\\.|[^\\"\n])*"))
  | (?P<number>(?i:0x[0-9a-f_]+|0o[0-7_]+|0b[01_]+|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:e[+-]?[\d_]+)?j?))
  | (?P<name>\w+)
  | (?P<operator>\*\*=|//=|>>=|<<=|\.\.\.|->|:=|[-+*/%&|^@=!<>]=|\*\*|//|>>|<<|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_FIELD = re.compile(r"\{\{|\}\}|\{([^{}]*)")
_LOOPS = frozenset({"for", "while"})
_UNINITIALISED = frozenset({"empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided"})
_OPEN = frozenset("([{")
_CLOSE = frozenset(")]}")


def _lex(text: str) -> list[tuple[str, str]]:
    return [(m.lastgroup or "", m.group()) for m in _TOKEN.finditer(text) if m.lastgroup != "skip"]


def tokens(text: str) -> int:
    """Tokens of Python source; comments, newlines and indentation are none. Inside an f-string each token counts."""
    return sum(_weight(kind, word) for kind, word in _lex(text))


def lines(text: str) -> int:
    """Lines that are not blank."""
    return sum(1 for line in text.split("\n") if line.strip())


def measure(text: str) -> Size:
    """The size of a Python source text. Total: text that does not parse has a size too."""
    lexed = _lex(text)
    loops = literals = count = 0
    for kind, word in lexed:
        count += _weight(kind, word)
        if kind == "name":
            loops += word in _LOOPS
        elif kind == "number":
            literals += _bits(word)
    return Size(_guard_level(lexed), count, loops, literals, len(text))


def _weight(kind: str, word: str) -> int:
    if kind == "string" and "f" in word[: min(word.find("'") % 99, word.find('"') % 99)].lower():
        return 1 + sum(tokens(m[1]) for m in _FIELD.finditer(word) if m[1])
    return 1


def _bits(word: str) -> int:
    """log2(1 + n) in thousandths; a float literal counts nothing."""
    try:
        value = int(word.replace("_", ""), 0)
    except ValueError:
        return 0
    return round(1000 * math.log2(1 + value)) if value < 1 << 1000 else 1000 * value.bit_length()


def _guard_level(lexed: list[tuple[str, str]]) -> int:
    """Unmasked pointer loads and stores, loads whose masked-off lanes hold anything, and uninitialised tensors.

    Pointer arithmetic shows as an operator in the first argument, or a name (it may have been computed before);
    block pointers and descriptors guard themselves: `desc.load([i, j])` has a list, `boundary_check=` is a guard.
    """
    level = 0
    for at, (kind, word) in enumerate(lexed[:-1]):
        if kind != "name" or lexed[at + 1][1] != "(":
            continue
        if word in _UNINITIALISED:
            level += 1
        elif word in ("load", "store") and at >= 2 and lexed[at - 1][1] == ".":
            level += _unguarded(word, lexed[at - 2][1], lexed, at + 2)
    return level


def _unguarded(word: str, owner: str, lexed: list[tuple[str, str]], at: int) -> int:
    """0 to 2 for one `X.load(...)` or `X.store(...)` whose arguments begin at `at`."""
    if owner not in ("tl", "language", "triton", "gl"):
        return 0  # a descriptor's method: the hardware clips it
    depth, keywords, positional, begin = 0, set[str](), 0, at
    while at < len(lexed):
        symbol = lexed[at][1]
        if symbol in _CLOSE and depth == 0:
            break
        depth += (symbol in _OPEN) - (symbol in _CLOSE)
        if depth == 0 and symbol == ",":
            positional += 1
        elif depth == 0 and symbol == "=" and at > begin:
            keywords.add(lexed[at - 1][1])
        at += 1
    if "boundary_check" in keywords:
        return 0
    given = positional + (at > begin) - (lexed[at - 1][1] == ",") - len(keywords)
    masked = "mask" in keywords or given > (1 if word == "load" else 2)
    if not masked:
        return 2
    return int(word == "load" and "other" not in keywords and given <= 2)

"""Python source as logical lines of words, each with its place in the text: what merging and the layout work on.

By the lexer that sizes are counted with: the same words under every Python version (an f-string is one of them).
"""

from __future__ import annotations

import keyword
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from shrinkray_gpu.reduction.size import LEXEME

OPEN, CLOSE = "([{", ")]}"


@dataclass(frozen=True)
class LogicalLine:
    words: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    """Of each word in the text."""
    start: int
    """Where the physical line of the first word begins."""
    end: int
    """Behind the newline (and the comment) after the last word."""
    depth: int
    """How many blocks it is in."""


def read(text: str) -> tuple[LogicalLine, ...]:
    """The logical lines of a source text; comments and empty lines belong to none."""
    found: list[list[tuple[int, int]]] = []
    nested, last = 0, 0
    for match in LEXEME.finditer(text):
        if match.lastgroup == "skip":
            # A line that a backslash continues has its newline in here, and not in the gap to the next word.
            if match.group().startswith("\\") and text[last : match.start()].count("\n") == 0:
                last = match.end()
            continue
        if not found or (nested <= 0 and "\n" in text[last : match.start()]):
            found.append([])
            nested = 0
        word = match.group()
        nested += (word in OPEN) - (word in CLOSE)
        found[-1].append(match.span())
        last = match.end()
    return _placed(text, found)


def _placed(text: str, found: Sequence[Sequence[tuple[int, int]]]) -> tuple[LogicalLine, ...]:
    lines: list[LogicalLine] = []
    margins: list[int] = []
    for spans in found:
        start = text.rfind("\n", 0, spans[0][0]) + 1
        end = text.find("\n", spans[-1][1]) + 1 or len(text)
        margin = len(text[start : spans[0][0]].expandtabs())
        while margins and margins[-1] >= margin:
            margins.pop()
        depth = len(margins)
        margins.append(margin)
        lines.append(LogicalLine(tuple(text[a:b] for a, b in spans), tuple(spans), start, end, depth))
    return tuple(lines)


@lru_cache(maxsize=1 << 13)
def kind(word: str) -> str:
    """`name`, `value` (a number or a string) or `mark` (an operator or a keyword)."""
    if word[0].isdigit() or word[-1] in "\"'" or (word[0] == "." and word[1:2].isdigit()):
        return "value"
    if word.isidentifier() and (word in ("True", "False", "None") or not keyword.iskeyword(word)):
        return "value" if word in ("True", "False", "None") else "name"
    return "mark"


def partners(words: Sequence[str]) -> dict[int, int]:
    """Each bracket's other half."""
    found: dict[int, int] = {}
    opened: list[int] = []
    for at, word in enumerate(words):
        if word in OPEN:
            opened.append(at)
        elif word in CLOSE and opened:
            found[at] = opened.pop()
            found[found[at]] = at
    return found

"""Parts of any text that may go: paragraphs, what stands in brackets, lines, words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

Span = tuple[int, int]
_PAIRS = {")": "(", "]": "[", "}": "{"}
_PARAGRAPH = re.compile(r"(?:^[^\n]*\S[^\n]*(?:\n|\Z))+\n*|\n+", re.MULTILINE)
_WORD = re.compile(r"[^\S\n]+\S+")
LONGEST = 20_000
"""Characters of a text whose words go one by one."""


def paragraphs(text: str) -> Iterator[Span]:
    """Lines between blank ones, with the blank ones behind them."""
    for found in _PARAGRAPH.finditer(text):
        yield found.span()


def brackets(text: str) -> Iterator[Span]:
    """What stands in brackets, without them and with them, from the outermost in, with the comma behind."""
    open_at: list[int] = []
    found: list[tuple[int, int, int]] = []
    for at, letter in enumerate(text):
        if letter in "([{":
            open_at.append(at)
        elif letter in _PAIRS and open_at and text[open_at[-1]] == _PAIRS[letter]:
            found.append((len(open_at), open_at.pop(), at + 1))
    for _, first, last in sorted(found):
        if last - first > 2:
            yield first + 1, last - 1
        comma = re.compile(r"\s*,").match(text, last)
        yield first, comma.end() if comma else last


def lines(text: str) -> Iterator[Span]:
    """Each line with its end."""
    for found in re.finditer(r"[^\n]*\n|[^\n]+\Z", text):
        yield found.span()


def blanks(text: str) -> Iterator[Span]:
    """Lines with nothing in them."""
    for found in re.finditer(r"^[ \t]*\n", text, re.MULTILINE):
        yield found.span()


def words(text: str) -> Iterator[Span]:
    """Each word with the space before it, of a text that is not long."""
    if len(text) <= LONGEST:
        for found in _WORD.finditer(text):
            yield found.span()


def without(text: str, spans: Sequence[Span]) -> str:
    """The text without these, which may overlap."""
    kept, at = [], 0
    for first, last in sorted(spans):
        if first > at:
            kept.append(text[at:first])
        at = max(at, last)
    return "".join([*kept, text[at:]])

"""Tables of words: aligned for a terminal, and in Markdown. The first row is the header."""

from __future__ import annotations

from collections.abc import Sequence

Rows = Sequence[Sequence[str]]


def columns(rows: Rows) -> list[str]:
    """A line for each row, its words below one another."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def aligned(rows: Rows) -> list[str]:
    """The same with a rule under the header."""
    rule = ["-" * max(map(len, column)) for column in zip(*rows)]
    return columns([rows[0], rule, *rows[1:]])


def markdown_table(rows: Rows) -> str:
    """The lines of the table, without an end of the last."""
    lines = ["| " + " | ".join(word.replace("|", "\\|") for word in row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * len(rows[0]), *lines[1:]])


def clipped(text: str, most: int) -> str:
    """The text on one line of so many characters at most."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 4]} ..."

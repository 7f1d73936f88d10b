"""Small edits of a text: where they are, the text with them, and the shell command that makes them.

The command is what a reader of an issue pastes: one line of `sed` that needs nothing but the repro beside it.
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class TextEdit:
    """Characters `start` to `end` of the text become `new`."""

    start: int
    end: int
    new: str


class Spots:
    """Nodes of a syntax tree as places in the text: `ast` counts columns in bytes of UTF-8."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._lines = [f"{line}\n" for line in text.split("\n")]  # a form feed ends no line for the parser
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))

    def over(self, node: ast.expr, new: str) -> TextEdit:
        """`new` in the place of the node."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        return TextEdit(self._at(node.lineno, node.col_offset), self._at(node.end_lineno, node.end_col_offset), new)

    def one_more(self, call: ast.Call, argument: str) -> TextEdit:
        """One more argument, behind the others."""
        assert call.end_lineno is not None and call.end_col_offset is not None
        end = self._at(call.end_lineno, call.end_col_offset) - 1  # before the bracket
        before = self.text[:end].rstrip()
        return TextEdit(end, end, argument if before.endswith(("(", ",")) else f", {argument}")

    def _at(self, line: int, column: int) -> int:
        text = self._lines[line - 1]
        return self._starts[line - 1] + len(text.encode()[:column].decode())


def apply_edits(text: str, edits: Iterable[TextEdit]) -> str:
    """The text with these edits, which do not overlap."""
    for edit in sorted(edits, reverse=True):
        text = text[: edit.start] + edit.new + text[edit.end :]
    return text


def command(text: str, edits: Iterable[TextEdit], file: str) -> str:
    """The line of shell that makes the edits of `file` and runs what comes out."""
    lines: dict[int, list[TextEdit]] = {}
    for edit in sorted(edits):
        lines.setdefault(text.count("\n", 0, edit.start) + 1, []).append(edit)
    words = [word for number, some in lines.items() for word in ("-e", shlex.quote(_substitution(text, number, some)))]
    return f"sed {' '.join(words)} {shlex.quote(file)} > variant.py && python variant.py"


def _substitution(text: str, number: int, edits: list[TextEdit]) -> str:
    """`10s/num_stages=3/num_stages=1/`: all edits of one line, from enough words before the first that this is the
    first such place in the line."""
    start = text.rfind("\n", 0, edits[0].start) + 1
    end = text.find("\n", edits[-1].end)
    line = text[start : end if end >= 0 else len(text)]
    low, high = edits[0].start - start, edits[-1].end - start
    if low == high == 0:  # something new before all that is there
        high = len(line)
    while low > 0 and (low == high or line.find(line[low:high]) != low or not _opens(line, low)):
        low -= 1
    new = apply_edits(line, [TextEdit(one.start - start, one.end - start, one.new) for one in edits])
    new = new[low : len(new) - (len(line) - high)]
    return f"{number}s/{_ESCAPED.sub(_AS_IS, line[low:high])}/{_REPLACING.sub(_AS_IS, new)}/"


_ESCAPED, _REPLACING = re.compile(r"([][\\.*^$/])"), re.compile(r"([\\&/])")
_AS_IS = r"\\\1"


def _opens(line: str, at: int) -> bool:
    """Whether a word begins here, with its name if it is an argument: a snippet should read as a piece of program."""
    return not (_in_word(line[at - 1]) and _in_word(line[at])) and line[at - 1] != "=" and line[at] != "="


def _in_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"

"""What comes of a pass's offers for a text: of each alone, and of all at once."""

from __future__ import annotations

from textwrap import dedent
from types import ModuleType

from shrinkray_gpu.reduction.edit import Edit
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.rendering.render import render


def offers(a_pass: ModuleType, text: str) -> dict[str, str]:
    """Each offer by its `what`, with the text that it alone gives."""
    program = Program.from_text(lines(text))
    return {edit.what: _text(program, [edit]) for edit in a_pass.find(program)}


def all_at_once(a_pass: ModuleType, text: str) -> str:
    """The text when everything that agrees with what comes before it is taken."""
    program = Program.from_text(lines(text))
    return _text(program, list(a_pass.find(program)))


def lines(text: str) -> str:
    """A text that is written indented."""
    return dedent(text).lstrip("\n")


def _text(program: Program, edits: list[Edit]) -> str:
    result = render(program, edits)
    assert result.parses
    return result.text

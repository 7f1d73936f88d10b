"""What the tests of one pass ask: which edits it offers for a source, and what a script is after some of them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from pathlib import Path
from textwrap import dedent

from shrinkray_gpu.reduction.edit import Edit
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.rendering.render import render

SAMPLES = [Path(__file__).parent / "samples" / name for name in ("autotuned_matmul.py", "row_scale.py")]
Find = Callable[[Program], Iterable[Edit]]


def program(source: str) -> Program:
    return Program.from_text(dedent(source).lstrip("\n"))


def tidy(source: str) -> str:
    """The same text for the same program, whatever its layout."""
    return ast.unparse(ast.parse(dedent(source).lstrip("\n")))


def results(find: Find, source: str) -> list[str]:
    """The program after each edit alone, in the order of preference."""
    start = program(source)
    return [tidy(render(start, [edit]).text) for edit in find(start)]


def offered(find: Find, source: str, want: str) -> bool:
    return tidy(want) in results(find, source)

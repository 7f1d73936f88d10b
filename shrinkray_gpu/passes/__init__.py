"""What may be taken away: the ordered list of passes, the table of contents of the reducer.

A pass reads a Program and yields Edits; it never searches, never runs and never judges. What makes later tries cheaper
goes first. A new pass is one file with a `find`, one line here, one test file.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from shrinkray_gpu.passes.danger import harmless
from shrinkray_gpu.passes.layout import layout
from shrinkray_gpu.reduction.edit import Edit
from shrinkray_gpu.reduction.program import Program

__all__ = ["PASSES", "Pass", "layout"]


COARSE, FINE, LAST = 0, 1, 2


@dataclass(frozen=True)
class Pass:
    """One way to make a Program smaller."""

    name: str
    find: Callable[..., Iterable[Edit]]
    """`find(program)`, or `find(program, values)` where `needs_values`."""
    grows: bool = False
    """Its edits may grow the program for a moment: they are kept only if it is smaller in the end."""
    needs_values: bool = False
    """It wants the values that the host's expressions took in a run."""
    stage: int = COARSE
    """It joins in when those of the stages before find little more."""

    @property
    def why(self) -> str:
        """The first line of the pass's own explanation."""
        lines = (importlib.import_module(f"{__name__}.{self.name}").__doc__ or "").splitlines()
        return lines[0] if lines else ""


def _find(name: str, program: Program, *values: Any) -> Iterable[Edit]:
    """The pass's own `find`, imported when first needed: libcst matchers and templates take a moment."""
    found: Iterable[Edit] = importlib.import_module(f"{__name__}.{name}").find(program, *values)
    return found


def _find_harmless(name: str, program: Program) -> Iterable[Edit]:
    return harmless(program, _find(name, program))


def _removes(name: str, *, stage: int = COARSE) -> Pass:
    """A pass that changes what the program does: kept away from calls that delete, write or spawn."""
    return Pass(name, partial(_find_harmless, name), stage=stage)


def _pins(name: str, *, grows: bool = False, needs_values: bool = False, stage: int = COARSE) -> Pass:
    """A pass that writes values in another way, or looks after such calls itself."""
    return Pass(name, partial(_find, name), grows, needs_values, stage)


PASSES: tuple[Pass, ...] = (
    _pins("configs"),  # a table of twelve configurations compiles twelve kernels a try
    _removes("unreachable"),  # most of a long script, in one try
    _pins("repeats"),  # warm-ups and timing loops run the fault ten times over
    _removes("launches"),  # a grid of one program runs at once
    _pins("tiles"),  # a 32x32x32 tile compiles 25 times as fast as a 256x128x64 one
    _removes("definitions"),  # reference checks go with all that they define
    _removes("statements"),  # the workhorse, from the outermost block in
    _removes("branches"),  # one arm leads to the fault
    _removes("contexts"),  # `with` and `try` around it
    _pins("observed", needs_values=True),  # argparse and config objects become the values they had
    _pins("constants"),  # names of numbers become numbers
    _removes("loops"),  # once is enough, or twice
    _removes("arguments"),  # what a function no longer needs, its callers need not compute
    _removes("assignments"),  # values that nobody reads under their names
    _pins("inlining", grows=True),  # helpers, wrappers and classes used once; each a trial
    _removes("decorations", stage=FINE),  # what only people read
    _pins("expressions", stage=FINE),  # part of an expression for the whole
    _pins("numbers", stage=LAST),  # what stands in a small program may be small
    _removes("guards", stage=LAST),  # a repro without its masks proves less, and the size order says so
    _removes("names", stage=LAST),  # for the reader: characters only
)

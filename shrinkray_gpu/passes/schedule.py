"""The schedule: which pass runs when, as one table that gives both orders.

A row says in which stage the pass joins in, where it stands in the search of a lifted script, and why it stands there.
What makes later tries cheaper goes first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from types import ModuleType
from typing import NamedTuple

from shrinkray_gpu.passes import inlining
from shrinkray_gpu.passes.cuda import (
    cuda_branches,
    cuda_cases,
    cuda_checks,
    cuda_conditionals,
    cuda_constants,
    cuda_definitions,
    cuda_expressions,
    cuda_inlining,
    cuda_launches,
    cuda_layout,
    cuda_members,
    cuda_numbers,
    cuda_parameters,
    cuda_results,
    cuda_slices,
    cuda_statements,
    cuda_unreachable,
    cuda_unread,
)
from shrinkray_gpu.passes.host import configs, launches, observed, repeats
from shrinkray_gpu.passes.kernel import (
    accesses,
    assembly,
    fillings,
    guards,
    masks,
    outlets,
    sinking,
    standins,
    tiles,
)
from shrinkray_gpu.passes.python import (
    arguments,
    assignments,
    branches,
    constants,
    contexts,
    decorations,
    definitions,
    expressions,
    loops,
    names,
    numbers,
    statements,
    unreachable,
)
from shrinkray_gpu.reduction.edit import Edit

COARSE, FINE, LAST = 0, 1, 2
"""Stages: the passes of a later one join in when those of the stages before find little more."""
SAME, POLISH = 0, -1
"""Places in a lifted script's order: after the ranked ones, as in the table; or in the last stage."""


@dataclass(frozen=True)
class Pass:
    """One way to make a Program smaller."""

    module: ModuleType
    grows: bool = False
    """Its edits may grow the program for a moment: they are kept only if it is smaller in the end."""
    needs_values: bool = False
    """It wants what a watched run saw: values of the host's expressions, types of those in kernels."""
    stage: int = COARSE
    """It joins in when those of the stages before find little more."""

    @property
    def name(self) -> str:
        return self.module.__name__.rpartition(".")[2]

    @property
    def find(self) -> Callable[..., Iterable[Edit]]:
        """`find(program)`, or `find(program, values)` where `needs_values`."""
        found: Callable[..., Iterable[Edit]] = self.module.find
        return found

    @property
    def why(self) -> str:
        """The first line of the pass's own explanation."""
        lines = (self.module.__doc__ or "").splitlines()
        return lines[0] if lines else ""


class Row(NamedTuple):
    """One line of the schedule."""

    module: ModuleType
    stage: int
    lifted: int
    """Its rank in a lifted script, where it joins in from the start; or `SAME`, or `POLISH`."""
    why: str
    """Why it stands at this place, or is there at all."""
    grows: bool = False
    needs_values: bool = False

    @property
    def entry(self) -> Pass:
        return Pass(self.module, grows=self.grows, needs_values=self.needs_values, stage=self.stage)


SCHEDULE = (
    Row(unreachable, COARSE, SAME, "most of a long script, in one try: all others are dear on a long one"),
    Row(configs, COARSE, SAME, "a table of twelve configurations compiles twelve kernels a try"),
    Row(cuda_cases, COARSE, SAME, "the same of CUDA C++ in string literals: each case may be a kernel"),
    Row(cuda_conditionals, COARSE, SAME, "`#if` resolved, so that what follows can read it"),
    Row(cuda_slices, COARSE, SAME, "what one statement of a kernel needs, in one step"),
    Row(cuda_checks, COARSE, SAME, "what only checks, all at once"),
    Row(cuda_unreachable, COARSE, SAME, "functions that no launch leads to, all at once"),
    Row(cuda_inlining, COARSE, SAME, "functions called once"),
    Row(cuda_launches, COARSE, SAME, "of one block"),
    Row(cuda_members, COARSE, SAME, "numbers for the constants of traits structs"),
    Row(cuda_unread, COARSE, SAME, "members, variables and parameters, all at once"),
    Row(repeats, COARSE, SAME, "warm-ups and timing loops run the fault ten times over"),
    Row(launches, COARSE, 1, "a grid of one program runs at once"),
    Row(tiles, COARSE, 2, "a 32x32x32 tile compiles 25 times as fast as a 256x128x64 one"),
    Row(definitions, COARSE, 12, "reference checks go with all that they define"),
    Row(statements, COARSE, 10, "the workhorse, from the outermost block in"),
    Row(cuda_branches, COARSE, SAME, "as in Python; loops run once"),
    Row(cuda_constants, COARSE, SAME, "macros, aliases, constants, variables"),
    Row(cuda_unreachable, COARSE, SAME, "again: much of it is read no more"),
    Row(cuda_unread, COARSE, SAME, "again: its readers are gone"),
    Row(cuda_statements, COARSE, SAME, "the workhorse of CUDA C++"),
    Row(branches, COARSE, 4, "one arm leads to the fault"),
    Row(contexts, COARSE, SAME, "`with` and `try` around it"),
    Row(observed, COARSE, SAME, "argparse and config objects become the values they had", needs_values=True),
    Row(constants, COARSE, 3, "names of numbers become numbers"),
    Row(loops, COARSE, 13, "once is enough, or twice"),
    Row(arguments, COARSE, 9, "what a function no longer needs, its callers need not compute"),
    Row(cuda_parameters, COARSE, SAME, "of functions, kernels, templates, with the host's calls"),
    Row(cuda_results, COARSE, SAME, "what a binding returns"),
    Row(assignments, COARSE, SAME, "values that nobody reads under their names"),
    Row(inlining, COARSE, 5, "helpers, wrappers and classes used once; each a trial", grows=True),
    Row(decorations, FINE, POLISH, "what only people read"),
    Row(expressions, FINE, 14, "part of an expression for the whole"),
    Row(cuda_definitions, FINE, SAME, "one by one, with what says their names"),
    Row(cuda_expressions, FINE, SAME, "part of an expression for the whole"),
    Row(accesses, FINE, 7, "pointer, value and mask of an access go together"),
    Row(sinking, FINE, 6, "what is only carried out of a loop"),
    Row(cuda_numbers, FINE, SAME, "tiles in the source and in the script, together"),
    Row(assembly, FINE, 11, "an input of inline assembly, its constraint and its number in the text"),
    Row(cuda_layout, LAST, SAME, "free: the code is the same"),
    Row(standins, LAST, 15, "one tile for two: what no part of an expression can replace"),
    Row(fillings, LAST, 8, "a constant of its type for a value, and all behind it gone", needs_values=True),
    Row(outlets, LAST, POLISH, "a print keeps a value alive without any memory"),
    Row(numbers, LAST, POLISH, "what stands in a small program may be small"),
    Row(masks, LAST, POLISH, "what lets less through is shorter"),
    Row(guards, LAST, POLISH, "a repro without its masks proves less, and the size order says so"),
    Row(names, LAST, POLISH, "for the reader: characters only"),
)

PASSES: tuple[Pass, ...] = tuple(row.entry for row in SCHEDULE)

ONE_LAUNCH: tuple[Pass, ...] = (
    *(replace(row.entry, stage=COARSE) for row in sorted(SCHEDULE, key=lambda row: row.lifted) if row.lifted > 0),
    *(row.entry for row in SCHEDULE if row.lifted == SAME),
    *(replace(row.entry, stage=LAST) for row in SCHEDULE if row.lifted == POLISH),
)
"""The same for a lifted script. It has no dead weight left, so what takes most for a try goes first, from the start.
`sinking` stands before `outlets` and `loops` before `expressions`: what the later one leaves is no way back for the
earlier one."""

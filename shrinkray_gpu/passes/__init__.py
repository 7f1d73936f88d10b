"""What may be taken away: the ordered list of passes, the table of contents of the reducer.

A pass reads a Program and yields Edits; it never searches, never runs and never judges. What makes later tries cheaper
goes first. A new pass is one file with a `find`, one line here, one test file. What must be left alone (what the user
keeps, what calls that delete or write hang on) is no pass's concern: `reduction/keep.py` takes such edits out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from types import ModuleType

from shrinkray_gpu.passes import (
    accesses,
    arguments,
    assembly,
    assignments,
    branches,
    configs,
    constants,
    contexts,
    decorations,
    definitions,
    expressions,
    fillings,
    guards,
    inlining,
    launches,
    loops,
    masks,
    names,
    numbers,
    observed,
    operands,
    outlets,
    repeats,
    sinking,
    standins,
    statements,
    tiles,
    unreachable,
)
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
from shrinkray_gpu.passes.layout import layout
from shrinkray_gpu.reduction.edit import Edit

__all__ = ["ONE_LAUNCH", "PASSES", "Pass", "layout"]

COARSE, FINE, LAST = 0, 1, 2


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


PASSES: tuple[Pass, ...] = (
    Pass(unreachable),  # most of a long script, in one try: all others are dear on a long one
    Pass(configs),  # a table of twelve configurations compiles twelve kernels a try
    Pass(cuda_cases),  # the same of CUDA C++ in string literals: each case may be a kernel
    Pass(cuda_conditionals),  # `#if` resolved, so that what follows can read it
    Pass(cuda_slices),  # what one statement of a kernel needs, in one step
    Pass(cuda_checks),  # what only checks, all at once
    Pass(cuda_unreachable),  # functions that no launch leads to, all at once
    Pass(cuda_inlining),  # functions called once
    Pass(cuda_launches),  # of one block
    Pass(cuda_members),  # numbers for the constants of traits structs
    Pass(cuda_unread),  # members, variables and parameters, all at once
    Pass(repeats),  # warm-ups and timing loops run the fault ten times over
    Pass(launches),  # a grid of one program runs at once
    Pass(tiles),  # a 32x32x32 tile compiles 25 times as fast as a 256x128x64 one
    Pass(definitions),  # reference checks go with all that they define
    Pass(statements),  # the workhorse, from the outermost block in
    Pass(cuda_branches),  # as in Python; loops run once
    Pass(cuda_constants),  # macros, aliases, constants, variables
    Pass(cuda_unreachable),  # again: much of it is read no more
    Pass(cuda_unread),
    Pass(cuda_statements),
    Pass(branches),  # one arm leads to the fault
    Pass(contexts),  # `with` and `try` around it
    Pass(observed, needs_values=True),  # argparse and config objects become the values they had
    Pass(constants),  # names of numbers become numbers
    Pass(loops),  # once is enough, or twice
    Pass(arguments),  # what a function no longer needs, its callers need not compute
    Pass(cuda_parameters),  # of functions, kernels, templates, with the host's calls
    Pass(cuda_results),  # what a binding returns
    Pass(assignments),  # values that nobody reads under their names
    Pass(inlining, grows=True),  # helpers, wrappers and classes used once; each a trial
    Pass(decorations, stage=FINE),  # what only people read
    Pass(expressions, stage=FINE),  # part of an expression for the whole
    Pass(cuda_definitions, stage=FINE),  # one by one, with what says their names
    Pass(cuda_expressions, stage=FINE),
    Pass(accesses, stage=FINE),  # pointer, value and mask of an access go together
    Pass(sinking, stage=FINE),  # what is only carried out of a loop
    Pass(cuda_numbers, stage=FINE),  # tiles in the source and in the script, together
    Pass(assembly, stage=FINE),  # an input of inline assembly, its constraint and its number in the text
    Pass(cuda_layout, stage=LAST),  # free: the code is the same
    Pass(standins, stage=LAST),  # one tile for two: what no part of an expression can replace
    Pass(operands, needs_values=True, stage=LAST),  # an operand twice, where both are of one type
    Pass(fillings, needs_values=True, stage=LAST),  # a constant of its type for a value, and all behind it gone
    Pass(outlets, stage=LAST),  # a print keeps a value alive without any memory
    Pass(numbers, stage=LAST),  # what stands in a small program may be small
    Pass(masks, stage=LAST),  # what lets less through is shorter
    Pass(guards, stage=LAST),  # a repro without its masks proves less, and the size order says so
    Pass(names, stage=LAST),  # for the reader: characters only
)


_WORTH_MOST = (launches, tiles, constants, branches, inlining, sinking, accesses, operands, fillings, arguments,
               statements, assembly, definitions, loops, expressions, standins)  # fmt: skip
_ONLY_POLISH = (outlets, numbers, masks, guards, names, decorations)

ONE_LAUNCH: tuple[Pass, ...] = (
    *(replace(each, stage=COARSE) for module in _WORTH_MOST for each in PASSES if each.module is module),
    *(each for each in PASSES if each.module not in (*_WORTH_MOST, *_ONLY_POLISH)),
    *(replace(each, stage=LAST) for each in PASSES if each.module in _ONLY_POLISH),
)
"""The same for a lifted script. It has no dead weight left, so what takes most for a try goes first, from the start: on
the programs of benchmarks/ constants, whole accesses and values for stand-ins of their type take 3 to 10 tokens a try,
statements and definitions 1, parts of expressions a half. `operands` stands before `fillings`, `sinking` before
`outlets` and `loops` before `expressions`: what the later one leaves is no way back for the earlier one."""

"""The schedule: which pass runs when, as one table that gives both orders.

A row says in which stage the pass joins in, where it stands in the search of a lifted script, and why it stands there.
What makes later tries cheaper goes first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from types import ModuleType

from shrinkray_gpu.passes import inlining
from shrinkray_gpu.passes.cuda import (
    cuda_branches,
    cuda_cases,
    cuda_checks,
    cuda_command_line,
    cuda_conditionals,
    cuda_constants,
    cuda_containers,
    cuda_definitions,
    cuda_expressions,
    cuda_flattening,
    cuda_inlining,
    cuda_inputs,
    cuda_launches,
    cuda_layout,
    cuda_members,
    cuda_numbers,
    cuda_objects,
    cuda_owners,
    cuda_parameters,
    cuda_reports,
    cuda_results,
    cuda_sizes,
    cuda_slices,
    cuda_statements,
    cuda_unreachable,
    cuda_unread,
)
from shrinkray_gpu.passes.host import compilations, configs, failing_call, launches, observed, repeats
from shrinkray_gpu.passes.kernel import (
    accesses,
    assembly,
    fillings,
    outlets,
    sinking,
    standins,
    tiles,
    unvisited,
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
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.libraries import is_plain

COARSE, FINE, LAST = 0, 1, 2
"""Stages: the passes of a later one join in when those of the stages before find little more."""
SAME, POLISH = 0, -1
"""Places in a lifted script's order: after the ranked ones, as in the table; or in the last stage."""


@dataclass(frozen=True)
class Pass:
    """One way to make a Program smaller: a line of the schedule."""

    module: ModuleType
    stage: int
    """It joins in when those of the stages before find little more."""
    lifted: int
    """Its rank in a lifted script, where it joins in from the start; or `SAME`, or `POLISH`."""
    reason: str
    """Why it stands at this place, or is there at all."""
    grows: bool = False
    """Its edits may grow the program for a moment: they are kept only if it is smaller in the end."""
    needs_values: bool = False
    """It wants what a watched run saw: values of the host's expressions, types of those in kernels."""
    plain: bool = False
    """It is for programs of host Python alone: others would pay a watched run for nothing."""
    function: str = "find"
    """Which of its module's functions finds its edits."""

    @property
    def name(self) -> str:
        return self.module.__name__.rpartition(".")[2]

    @property
    def find(self) -> Callable[..., Iterable[Edit]]:
        """`find(program)`, or `find(program, values)` where `needs_values`."""
        found: Callable[..., Iterable[Edit]] = getattr(self.module, self.function)
        return found

    @property
    def why(self) -> str:
        """The first line of the pass's own explanation."""
        lines = (self.module.__doc__ or "").splitlines()
        return lines[0] if lines else ""


PASSES: tuple[Pass, ...] = (
    Pass(failing_call, COARSE, SAME, "nearly all of a long host program, in one try", needs_values=True, plain=True),
    Pass(unreachable, COARSE, SAME, "most of a long script, in one try: all others are dear on a long one"),
    Pass(unvisited, COARSE, 1, "all behind the failing statement, in one try", needs_values=True),
    Pass(configs, COARSE, SAME, "a table of twelve configurations compiles twelve kernels a try"),
    Pass(cuda_cases, COARSE, SAME, "the same of CUDA C++ in string literals: each case may be a kernel"),
    Pass(cuda_conditionals, COARSE, SAME, "`#if` resolved, so that what follows can read it"),
    Pass(cuda_slices, COARSE, SAME, "what one statement of a kernel needs, in one step"),
    Pass(cuda_checks, COARSE, SAME, "what only checks, all at once"),
    Pass(cuda_command_line, COARSE, SAME, "of a .cu: options that the run is not given"),
    Pass(cuda_reports, COARSE, SAME, "the host's handling of errors, all at once"),
    Pass(cuda_owners, COARSE, SAME, "of a .cu: plain pointers, which the rows below know"),
    Pass(cuda_flattening, COARSE, SAME, "of a .cu: what the rows below find one by one and seldom lose, in one step"),
    Pass(cuda_numbers, COARSE, SAME, "of a .cu: with fewer data each further try is shorter", function="find_large"),
    Pass(cuda_inputs, COARSE, SAME, "of a .cu: a kernel's arguments"),
    Pass(cuda_flattening, COARSE, SAME, "again: what the host fills these with"),
    Pass(cuda_inputs, COARSE, SAME, "again: what one of them held is read in one place now"),
    Pass(cuda_flattening, COARSE, SAME, "again, for these"),
    Pass(cuda_unreachable, COARSE, SAME, "functions that no launch leads to, all at once"),
    Pass(cuda_inlining, COARSE, SAME, "functions called once"),
    Pass(cuda_objects, COARSE, SAME, "classes of few objects: with them goes what their fields are passed through"),
    Pass(cuda_launches, COARSE, SAME, "of one block"),
    Pass(cuda_members, COARSE, SAME, "numbers for the constants of traits structs"),
    Pass(cuda_unread, COARSE, SAME, "members, variables and parameters, all at once"),
    Pass(repeats, COARSE, SAME, "warm-ups and timing loops run the fault ten times over"),
    Pass(launches, COARSE, 1, "a grid of one program runs at once"),
    Pass(compilations, COARSE, 1, "the same where nothing is launched: what the compiler is told, and need not be"),
    Pass(tiles, COARSE, 2, "a 32x32x32 tile compiles 25 times as fast as a 256x128x64 one"),
    Pass(definitions, COARSE, 12, "reference checks go with all that they define"),
    Pass(statements, COARSE, 10, "the workhorse, from the outermost block in"),
    Pass(cuda_branches, COARSE, SAME, "as in Python; loops run once"),
    Pass(cuda_constants, COARSE, SAME, "macros, aliases, constants, variables"),
    Pass(cuda_sizes, COARSE, SAME, "what remains of buffers that own their memory is mostly their sizes"),
    Pass(cuda_containers, COARSE, SAME, "arrays for the host's vectors, once nothing passes them on"),
    Pass(cuda_unreachable, COARSE, SAME, "again: much of it is read no more"),
    Pass(cuda_unread, COARSE, SAME, "again: its readers are gone"),
    Pass(cuda_statements, COARSE, SAME, "the workhorse of CUDA C++"),
    Pass(branches, COARSE, 4, "one arm leads to the fault"),
    Pass(contexts, COARSE, SAME, "`with` and `try` around it"),
    Pass(observed, COARSE, SAME, "argparse and config objects become the values they had", needs_values=True),
    Pass(constants, COARSE, 3, "names of numbers become numbers"),
    Pass(loops, COARSE, 13, "once is enough, or twice"),
    Pass(arguments, COARSE, 9, "what a function no longer needs, its callers need not compute"),
    Pass(cuda_parameters, COARSE, SAME, "of functions, kernels, templates, with the host's calls"),
    Pass(cuda_results, COARSE, SAME, "what a binding returns"),
    Pass(assignments, COARSE, SAME, "values that nobody reads under their names"),
    Pass(inlining, COARSE, 5, "helpers, wrappers and classes used once; each a trial", grows=True),
    Pass(decorations, FINE, POLISH, "what only people read"),
    Pass(expressions, FINE, 14, "part of an expression for the whole"),
    Pass(cuda_definitions, FINE, SAME, "one by one, with what says their names"),
    Pass(cuda_expressions, FINE, SAME, "part of an expression for the whole"),
    Pass(accesses, FINE, 7, "pointer, value and mask of an access go together"),
    Pass(sinking, FINE, 6, "what is only carried out of a loop"),
    Pass(cuda_numbers, FINE, SAME, "tiles in the source and in the script, together"),
    Pass(assembly, FINE, 11, "an input of inline assembly, its constraint and its number in the text"),
    Pass(cuda_layout, LAST, SAME, "free: the code is the same"),
    Pass(standins, LAST, 15, "one tile for two: what no part of an expression can replace"),
    Pass(fillings, LAST, 8, "a constant of its type for a value, and all behind it gone", needs_values=True),
    Pass(outlets, LAST, POLISH, "a print keeps a value alive without any memory"),
    Pass(numbers, LAST, POLISH, "what stands in a small program may be small"),
    Pass(names, LAST, POLISH, "for the reader: characters only"),
)

ONE_LAUNCH: tuple[Pass, ...] = (
    *(replace(each, stage=COARSE) for each in sorted(PASSES, key=lambda each: each.lifted) if each.lifted > 0),
    *(each for each in PASSES if each.lifted == SAME and not each.plain),
    *(replace(each, stage=LAST) for each in PASSES if each.lifted == POLISH),
)
"""The same for a lifted script. It has no dead weight left, so what takes most for a try goes first, from the start.
`sinking` stands before `outlets` and `loops` before `expressions`: what the later one leaves is no way back for the
earlier one."""


_FIRST = (
    failing_call, unreachable, unvisited, observed, constants, branches, contexts, arguments, inlining, loops,
    repeats, configs,
)  # fmt: skip
HOST: tuple[Pass, ...] = (
    *(each for module in _FIRST for each in PASSES if each.module is module),
    *(each for each in PASSES if each.module not in _FIRST),
)
"""The same for host Python alone. What a run computed becomes constants, and layers melt, before statements go one by
one: most of these only carry something from one layer to the next."""


_NARROW = {arguments: "find_spare", observed: "find_told", numbers: "find_for_check"}
"""What a pass finds where what the host hands to a kernel, or holds its result against, may be what is wrong."""
_OTHER_VALUES = (configs, launches, tiles, accesses, sinking, standins, fillings, outlets, numbers)
"""What mostly changes the values that a kernel computes, or what it is given."""
_OF_CHECK = (
    unreachable, unvisited, observed, branches, contexts, inlining, repeats, loops, constants, arguments, statements,
    definitions,
)  # fmt: skip
CHECK: tuple[Pass, ...] = (
    *(
        replace(each, function=_NARROW.get(module, each.function))
        for module in _OF_CHECK
        for each in PASSES
        if each.module is module
    ),
    *(each for each in PASSES if each.module not in (*_OF_CHECK, *_OTHER_VALUES) and not each.plain),
    *(replace(each, stage=LAST, function="find_apart") for each in PASSES if each.module is arguments),
    *(
        replace(each, stage=LAST, function=_NARROW.get(each.module, each.function))
        for each in PASSES
        if each.module in _OTHER_VALUES
    ),
)
"""The same for a program that fails a check of what its kernels computed: that is to stay what it was. So layers melt
first, which changes no value, and the host's code goes. What changes the kernels comes at the end, when a try is cheap.
"""


def order_for(program: Program, *, one_launch: bool, checked: bool = False) -> tuple[Pass, ...]:
    """The passes for this program, in the order in which they run. `checked`: it fails a check of values."""
    if one_launch:
        return ONE_LAUNCH
    if checked:
        return CHECK
    return HOST if is_plain(program) else tuple(each for each in PASSES if not each.plain)

"""What the host program does to make the value with which a launch goes wrong: it stays, and is not lifted away.

A launch alone begins after that value was made, and has it as a number. Then the mistake of the host program, a wrong
product or a table of the step before, is no longer there to be mended. So the program itself is reduced, and what the
value hangs on is marked: statements with `# shrink: keep`, conditions and loops with `# shrink: keep-head`. It all
stays, since nobody knows which of it is wrong, and a condition that should have been another one shows in no value.
"""

from __future__ import annotations

import ast
import re

from shrinkray_gpu.oracle.cause_check import GIVEN, LaunchCauses, faulting_launch, is_of_grid
from shrinkray_gpu.runner.inside.static import cause as kinds
from shrinkray_gpu.runner.inside.static.cause import Cause
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.start.argument_slice import arguments_named, function, marked, slice_of, with_kernels
from shrinkray_gpu.start.host_code import parameters

_INTEGERS = re.compile(r"u?i(?:8|16|32|64)\[")
_PLACE = re.compile(r" (?:\(\S+:\d+:\d+\)|at \S+:\d+:\d+)")
"""Lines are counted from the kernel's first here, where the text alone decides what is compiled again."""
_SCALAR = re.compile(r"u?i(?:8|16|32|64) ")


def made_by_host(causes: LaunchCauses | None) -> str:
    """What the host program makes, or may make, that goes wrong in its launch; empty where that is the kernel's doing,
    or unknown."""
    return _PLACE.sub("", causes.causes[0].sentence) if causes is not None and causes.may_be_made_by_host else ""


def with_slice_kept(text: str, run: Run) -> str:
    """The program's text, with marks at what makes the value; the text itself where its kernel is none of the text's,
    or is launched by no call of its name."""
    launch = faulting_launch(run)
    kernel = function(ast.parse(text), launch.kernel) if launch is not None else None
    if launch is None or kernel is None or not launch.causes:
        return text
    cause, taken = launch.causes[0], parameters(kernel)
    wanted = {*cause.parameters, cause.tensor}.intersection(taken)
    candidates = {name: described for name, described in zip(taken, launch.args) if _may_be(cause, described)}
    if not wanted:  # an older Triton numbers its parameters
        wanted = set(candidates)
    elif cause.kind in GIVEN:  # a one is no parameter of the compiled kernel
        values = set(map(str, cause.values))
        wanted |= {name for name, described in candidates.items() if described.rpartition(" ")[2] in values}
    named = arguments_named(text, kernel.name, wanted, grid=is_of_grid(cause))
    # Where the virtual GPU runs no kernel, what goes wrong does so without what any of them writes.
    interpreted = any(each.interpreted for each in run.launches)
    tree = ast.parse(named)
    launched = interpreted or not run.virtual
    found = slice_of(tree, kernel.name, wanted, grid=is_of_grid(cause), launched=launched)
    return marked(named, with_kernels(tree, found, kernel.name) if interpreted else found)


def _may_be(cause: Cause, described: str) -> bool:
    """Whether an argument of such a type may be what is wrong."""
    loaded = kinds.LOADED in cause.inputs or cause.kind == kinds.MEMORY
    return (_INTEGERS if loaded else _SCALAR).match(described) is not None

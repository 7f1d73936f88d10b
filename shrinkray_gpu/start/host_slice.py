"""What the host program does to make the value with which a launch goes wrong: it stays, and is not lifted away.

A launch alone begins after that value was made, and has it as a number. Then the mistake of the host program, a wrong
product or a table of the step before, is no longer there to be mended. So the program itself is reduced, and what the
value hangs on is marked: statements with `# shrink: keep`, conditions and loops with `# shrink: keep-head`. It all
stays, since nobody knows which of it is wrong, and a condition that should have been another one shows in no value.
"""

from __future__ import annotations

import ast
import re

from shrinkray_gpu.calibration.missed import kernels_ran
from shrinkray_gpu.oracle.cause_check import GIVEN, LaunchCauses, faulting_launch, is_of_grid, may_be_of_size
from shrinkray_gpu.runner.inside.static import cause as kinds
from shrinkray_gpu.runner.inside.static.cause import Cause
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.start.argument_slice import (
    HELION,
    MARK,
    function,
    marked,
    slice_of,
    waiting,
    with_helion_launches,
    with_kernels,
    without_marks,
)
from shrinkray_gpu.start.behind_fault import behind_fault
from shrinkray_gpu.start.constant_branch import ConstantBranch, behind_access, constant_branch
from shrinkray_gpu.start.refused_slice import is_computed
from shrinkray_gpu.start.statements import parameters

_INTEGERS = re.compile(r"u?i(?:8|16|32|64)\[")
_PLACE = re.compile(r" (?:\(\S+:\d+:\d+\)|at \S+:\d+:\d+)")
"""Lines are counted from the kernel's first here, where the text alone decides what is compiled again."""
_LINE = re.compile(r":(\d+):\d+$")
_SCALAR = re.compile(r"u?i(?:8|16|32|64) ")


def made_by_host(causes: LaunchCauses | None, text: str = "") -> str:
    """What the host program makes, or may make, that goes wrong in its launch; empty where that is the kernel's doing,
    or unknown. `text`: the program's."""
    if causes is None:
        return ""
    cause, tree = causes.causes[0], ast.parse(text)
    kernel = function(tree, causes.kernel)
    made = causes.may_be_made_by_host
    if kernel is not None:
        # A size that is a number in the text is not lost.
        stated = causes.of_size_alone and not _computes(tree, kernel, _of_size(tree, kernel, cause), grid=True)
        stated = stated or causes.of_hint and not _computes(tree, kernel, _taken(kernel, cause), grid=False)
        made = made and not stated or _branch(kernel, cause) is not None
    return _PLACE.sub("", cause.sentence) if made else ""


def _computes(tree: ast.Module, kernel: ast.FunctionDef, wanted: set[str], *, grid: bool) -> bool:
    """Whether the host computes anything of which these arguments may be made, or the grid."""
    found = slice_of(tree, kernel.name, wanted, grid=grid)
    values = (each for parts in found.parts.values() for each in parts)
    return any(map(is_computed, (*found.statements, *values)))


def _taken(kernel: ast.FunctionDef, cause: Cause) -> set[str]:
    """The kernel's parameters that what goes wrong hangs on."""
    return set(cause.parameters).intersection(parameters(kernel))


def _of_size(tree: ast.Module, kernel: ast.FunctionDef, cause: Cause) -> set[str]:
    """The kernel's parameters that an access hangs on, with the tensor that it leaves."""
    line = _LINE.search(cause.at)
    behind = behind_access(tree, kernel, int(line[1])) if line is not None else ()
    return {cause.tensor, *behind}.intersection(parameters(kernel))


def with_slice_kept(text: str, run: Run) -> str:
    """The program's text, with marks at what makes the value; the text itself where its kernel is none of the text's,
    or is launched by no call of its name."""
    launch = faulting_launch(run)
    if launch is None or not launch.causes:
        return text
    tree = with_helion_launches(ast.parse(text), launch.kernel)
    kernel = function(tree, launch.kernel)
    if kernel is None:
        return text
    cause, taken = launch.causes[0], parameters(kernel)
    alike = {each.tensor for each in launch.causes if each.kind == cause.kind}  # one of them may be left in the end
    wanted = {*cause.parameters, cause.tensor, *alike}.intersection(taken)
    candidates = {name: described for name, described in zip(taken, launch.args) if _may_be(cause, described)}
    if kernel.name.startswith(HELION):  # what it generates has parameters of its own
        wanted = set(taken)
    elif not wanted:  # an older Triton numbers its parameters
        wanted = set(candidates)
    elif cause.kind in GIVEN:  # a one is no parameter of the compiled kernel
        values = set(map(str, cause.values))
        wanted |= {name for name, described in candidates.items() if described.rpartition(" ")[2] in values}
    grid = is_of_grid(cause) or may_be_of_size(cause) or _is_loaded(cause)  # a fix may change how much is loaded
    if may_be_of_size(cause):
        wanted |= _of_size(tree, kernel, cause)
    branch = _branch(kernel, cause)
    if branch is not None:
        wanted |= set(branch.behind(tree, kernel)[1])
    # Where the virtual GPU runs no kernel, what goes wrong does so without what any of them writes.
    interpreted = kernels_ran(run)
    first = next(each for each in run.launches if each.kernel == launch.kernel) is launch
    launched = interpreted or not run.virtual or cause.kind == kinds.UNWRITTEN
    # Of a tensor that is left, only the size matters.
    shaped = {cause.tensor, *alike}.difference(cause.parameters) if cause.breaks == kinds.BOUNDS else ()
    found = slice_of(tree, kernel.name, wanted, shaped=shaped, grid=grid, launched=launched, first=first)
    if branch is not None:
        within, _ = branch.behind(tree, kernel)
        found = found._replace(
            statements=[*found.statements, *within.statements],
            heads=[*found.heads, *within.heads],
            functions=[*found.functions, *within.functions],
        )
    found = with_kernels(tree, found, kernel.name) if interpreted else found
    return marked(text, found.without(behind_fault(tree, run)))


def with_waits(text: str, run: Run) -> str:
    """The program's text, where it waits for the device behind each launch that may fault. What lies behind the one
    that does so never runs then, and `with_slice_kept` marks nothing of it."""
    launch = faulting_launch(run)
    if launch is None or MARK in text:
        return text
    return waiting(without_marks(with_slice_kept(text, run)), launch.kernel)


def _branch(kernel: ast.FunctionDef, cause: Cause) -> ConstantBranch | None:
    """The branch around an access that lacks a mask, or has a wrong one, which constants decide."""
    line = _LINE.search(cause.at)
    if cause.kind not in (kinds.NO_MASK, kinds.WRONG_MASK) or line is None:
        return None
    return constant_branch(kernel, int(line[1]))


def _may_be(cause: Cause, described: str) -> bool:
    """Whether an argument of such a type may be what is wrong."""
    return (_INTEGERS if _is_loaded(cause) else _SCALAR).match(described) is not None


def _is_loaded(cause: Cause) -> bool:
    return kinds.LOADED in cause.inputs or cause.kind == kinds.MEMORY

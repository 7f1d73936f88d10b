"""Where the fault that a run shows begins: what failures must have in common to be of one cause.

A message is no cause, and neither is a job. Two failures are of one cause where the same kernel goes wrong at the same
statement in the same way, by Triton's IR or by the compiler's own words. What the host makes counts by the host's lines
as well. Where a test itself may make what goes wrong, only another set of its parameters is of the same cause.
"""

from __future__ import annotations

import ast
import hashlib
import re
from dataclasses import dataclass, replace
from pathlib import Path

from shrinkray_gpu.evidence.evidence import Evidence
from shrinkray_gpu.evidence.source_places import folders_of
from shrinkray_gpu.evidence.source_text import name_below
from shrinkray_gpu.oracle.cause_check import LaunchCauses, faulting_launch, is_of_grid, is_of_program
from shrinkray_gpu.oracle.driver_error import static_rule
from shrinkray_gpu.oracle.failed_check import CHECK
from shrinkray_gpu.oracle.fault import Fault, broken_compile, kernels
from shrinkray_gpu.questions.blame.way import own_lines
from shrinkray_gpu.runner.inside.static.cause import MEMORY, STRIDE, SWAPPED, Cause
from shrinkray_gpu.runner.pool import Script
from shrinkray_gpu.runner.run import Launch, Run
from shrinkray_gpu.triage.reported import function, of_package

BY_IR, BY_RULE, BY_COMPILER, BY_LINES, BY_TEXT = (
    "Triton's IR", "a static rule", "the compiler's words", "the lines that lead to it", "its text alone",
)  # fmt: skip

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_WHOLE = re.compile(r"[iu]\d+\[")
"""How a launch tells of a tensor of whole numbers."""


@dataclass(frozen=True)
class FaultOrigin:
    """Where a fault begins. Equal ones are one cause."""

    by: str
    """Who tells."""
    kind: str
    """What goes wrong there."""
    kernel: str = ""
    statement: str = ""
    """Of the kernel: `ops.py:6:16`; of the host, where no kernel is concerned: its innermost line."""
    host: tuple[str, ...] = ()
    """The host's part in it: lines, and the test where that may be what is wrong."""

    def __str__(self) -> str:
        at = f" at {self.statement}" if self.statement else ""
        kernel = f" in {self.kernel}" if self.kernel else ""
        return f"{self.kind}{kernel}{at}"


def origin_of(run: Run, seen: Evidence, node: str, script: Script) -> FaultOrigin | None:
    """Where the fault begins that a run of this test shows; None where it shows none."""
    fault = seen.fault
    if fault is None:  # whatever Triton's IR says of a launch: nobody saw it matter
        return None
    broken = faulting_launch(run)
    if broken is not None and fault.phase == "device":
        return _of_cause(broken, node, script)
    frames = tuple(own_lines(run.failure.traceback, script)) if run.failure is not None else ()
    if fault.phase == "device":
        launch = next((each for each in run.launches if each.fault), None)
        rule = static_rule(launch) if launch is not None else None
        if launch is not None and rule is not None:
            return FaultOrigin(BY_RULE, rule.name, launch.kernel, fault.construct, _caller(launch.host, node))
        return FaultOrigin(BY_LINES, fault.klass, fault.kernel, fault.construct, (*frames, function(node)))
    kind = f"{fault.klass}: {fault.text}" if fault.text else fault.klass
    if fault.phase == "compile":
        return _of_compiler(fault, kind, run, seen, frames, script) or _of_host(fault, kind, run, frames, node)
    return _of_host(fault, kind, run, frames, node)


def of_text(fault: Fault | None, kernel: str, frames: tuple[str, ...], name: str) -> FaultOrigin | None:
    """The same of a failure that was not seen here. A device error comes up wherever the host waits next, so that its
    lines say nothing of two tests. Nor do lines where no kernel is known."""
    if fault is None:
        return None
    kind = f"{fault.klass}: {fault.text}" if fault.text else fault.klass
    if fault.phase == "compile" and kernel and frames:
        return FaultOrigin(BY_TEXT, kind, kernel, frames[-1])
    lower = of_package(name, frames)
    if fault.phase == "python" and kernel and lower and not CHECK.search(fault.klass):
        return FaultOrigin(BY_TEXT, kind, kernel, lower[-1], lower[:-1])
    return FaultOrigin(BY_TEXT, kind, kernel, frames[-1] if frames else "", (*frames[:-1], function(name)))


def by_kernel(origin: FaultOrigin, text: str, file: str) -> FaultOrigin:
    """The origin in a script of ours, told by the kernel's own text: in another script the same kernel may stand on
    other lines."""
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    kernel = next((node for node in functions if node.name == origin.kernel), None)
    if kernel is None:
        return origin
    digest = hashlib.sha256((ast.get_source_segment(text, kernel) or "").encode()).hexdigest()[:8]
    first = kernel.lineno

    def told(place: str) -> str:
        return re.sub(
            rf"^{re.escape(file)}:(\d+)", lambda at: f"{origin.kernel}@{digest}:{int(at[1]) - first + 1}", place
        )

    return replace(origin, statement=told(origin.statement), host=tuple(map(told, origin.host)))


def _of_cause(launch: Launch, node: str, script: Script) -> FaultOrigin:
    causes = LaunchCauses(launch.kernel, launch.causes, launch.unfollowed)
    first = causes.causes[0]
    host: tuple[str, ...] = ()
    # A kernel that asks for no extent is one cause, whoever launches it.
    of_kernel = causes.of_size_alone and not (is_of_grid(first) or is_of_program(first))
    if causes.may_be_made_by_host and not of_kernel:
        made_there = _is_made_of_tensors(first) and _computes_all(launch, first, script.cwd)
        host = (launch.host,) if made_there else _caller(launch.host, node)
    kind = f"{first.kind}, {first.operation}" if first.operation else first.kind
    return FaultOrigin(BY_IR, kind, launch.kernel, first.at or first.place, (*host, *_told_apart(first)))


def _told_apart(cause: Cause) -> tuple[str, ...]:
    """What else of a cause is never alike by chance: which rule it breaks, and at which operation it begins."""
    return cause.breaks, cause.place


def _caller(launched: str, node: str) -> tuple[str, ...]:
    return tuple(filter(None, (launched, function(node))))


def _is_made_of_tensors(cause: Cause) -> bool:
    """Whether the host makes what is wrong of a tensor's shape or strides, whichever tensor that is, or an index list
    of its own."""
    return cause.kind in (STRIDE, SWAPPED, MEMORY) or is_of_grid(cause)


def _computes_all(launch: Launch, cause: Cause, root: Path) -> bool:
    """Whether the function that launches makes all that it passes of the tensors that it passes, and index lists
    itself: nothing that is wrong is then handed in by its caller. Not where its text cannot be found for sure."""
    name, _, line = launch.host.rpartition(":")
    files = [each for each in root.rglob(name) if "site-packages" not in each.parts] if name else []
    if len(files) != 1 or not line.isdecimal():
        return False
    try:
        tree = ast.parse(files[0].read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError):
        return False
    found = _launching(tree, int(line))
    if found is None:
        return False
    around, host, call = found
    passed = [(given, told) for given, told in zip(call.args, launch.args) if "[" in told]
    tensors = {given.id for given, _ in passed if isinstance(given, ast.Name)}
    parameters = _parameters(host).union(*map(_names, around))
    if cause.kind == MEMORY:
        lists = [given for given, told in passed if _WHOLE.match(told)]
        if not all(isinstance(given, ast.Name) and given.id not in parameters for given in lists):
            return False
    handed = parameters - tensors
    body = host.body if isinstance(host.body, list) else [host.body]
    return not any(isinstance(node, ast.Name) and node.id in handed for each in body for node in ast.walk(each))


def _launching(tree: ast.Module, line: int) -> tuple[list[_Function], _Function, ast.Call] | None:
    """The launch at this line, the innermost function that it is in, and those around it."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _spans(node, line)]
    launches = [call for call in calls if isinstance(call.func, ast.Subscript)]
    if len(launches) != 1:
        return None
    functions = [node for node in ast.walk(tree) if isinstance(node, _Function) and launches[0] in ast.walk(node)]
    return (functions[:-1], functions[-1], launches[0]) if functions else None  # ast.walk goes from without to within


def _parameters(function: _Function) -> set[str]:
    args = function.args
    every = (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg)
    return {each.arg for each in every if each is not None}


def _names(function: _Function) -> set[str]:
    """What a function within this one has of it: its parameters, and all that is given a name anywhere in it."""
    stored = (node for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    return _parameters(function) | {node.id for node in stored}


def _spans(node: ast.Call, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _of_compiler(
    fault: Fault, kind: str, run: Run, seen: Evidence, frames: tuple[str, ...], script: Script
) -> FaultOrigin | None:
    """A pass that fails by the same words is one cause, whatever kernel it is at work on: what is wrong is below the
    front end, and numbers apart the words are the same. All else is of its kernel, by the line that the compiler names
    or by the kernel's file; a kernel's name alone may be that of two. None where none of these is known."""
    raised = run.failure.type.rpartition(".")[2] if run.failure is not None else ""
    if fault.text and fault.klass != raised and not fault.klass.startswith("SIG"):
        return FaultOrigin(BY_COMPILER, kind)
    kernel, place = fault.kernel or seen.kernel, str(seen.place or "")
    if place and place not in frames:
        return FaultOrigin(BY_COMPILER, kind, kernel, place)
    broken = broken_compile(run)
    if broken is None or not broken.file:
        return None
    return FaultOrigin(BY_COMPILER, kind, kernel, name_below(broken.file, folders_of(script)))


def _of_host(fault: Fault, kind: str, run: Run, frames: tuple[str, ...], node: str) -> FaultOrigin:
    """An exception of the host's: by the lines that lead to it. A check that fails says nothing of why, so that it is
    of its test, and so is what no kernel has a part in; what a library of the program's raises, by its lines."""
    launched = "+".join(sorted(kernels(run)))
    lower = of_package(node, frames)
    if lower and launched and not CHECK.search(fault.klass) and fault.phase in ("python", "launch"):
        return FaultOrigin(BY_LINES, kind, launched, lower[-1], lower[:-1])
    return FaultOrigin(BY_LINES, kind, launched, frames[-1] if frames else "", (*frames[:-1], function(node)))

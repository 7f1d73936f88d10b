"""Controls that turn one argument of a launch: what the fault hangs on by way of the kernel's parameters.

usual-type=P        for what the front end refuses: a tensor of another type. A fault that vanishes is one of that
other-type=P        tensor's type, and a type that is written into the kernel is another fault
other-constant=P    for a launch out of resources of which the host makes the constants: half of one. And for memory
                    that nobody wrote: a switch of a kernel that could have written it, the other way
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shrinkray_gpu.oracle.cause_check import LaunchCauses
from shrinkray_gpu.oracle.fault import FRONT_END, Fault
from shrinkray_gpu.runner.inside.static.cause import UNWRITTEN
from shrinkray_gpu.runner.inside.knobs.arguments import OTHER_CONSTANT, OTHER_TYPE, USUAL_TYPE
from shrinkray_gpu.runner.knob_settings import parse_setting
from shrinkray_gpu.same_fault.controls import Control

MOST = 24
"""Ways that are tried: each costs a run of the original."""
_KEPT = "# shrink: keep-head"


def of_arguments(fault: Fault, text: str, causes: LaunchCauses | None = None) -> tuple[Control, ...]:
    """Those for this fault of a program; none for another fault."""
    ways = list(dict.fromkeys(_ways(fault, text, causes)))[:MOST]
    return tuple(Control(way.name, way) for way in map(parse_setting, ways))


def _ways(fault: Fault, text: str, causes: LaunchCauses | None) -> Iterator[str]:
    kernels = [each for each in ast.walk(ast.parse(text)) if isinstance(each, ast.FunctionDef)]
    if fault.phase == "compile" and FRONT_END.search(fault.klass):
        for kernel in kernels:
            if kernel.name == fault.kernel:
                tensors = [each.arg for each in _parameters(kernel) if not _is_constant(each)]
                yield from (f"{knob}={name}" for name in tensors for knob in (USUAL_TYPE, OTHER_TYPE))
    short = fault.phase == "launch" and "out of resource" in fault.klass
    unwritten = causes is not None and causes.causes[0].kind == UNWRITTEN
    for kernel in kernels:
        if short and kernel.name == fault.kernel and _is_kept(kernel, text) or unwritten:
            yield from (f"{OTHER_CONSTANT}={each.arg}" for each in _parameters(kernel) if _is_constant(each))


def _parameters(kernel: ast.FunctionDef) -> list[ast.arg]:
    return [*kernel.args.posonlyargs, *kernel.args.args, *kernel.args.kwonlyargs]


def _is_constant(parameter: ast.arg) -> bool:
    return parameter.annotation is not None and "constexpr" in ast.unparse(parameter.annotation)


def _is_kept(kernel: ast.FunctionDef, text: str) -> bool:
    """Whether the head of a kernel stays, since the host makes its constants: a lifted one has them as numbers."""
    return any(_KEPT in line for line in text.splitlines()[kernel.lineno - 1 : kernel.body[0].lineno - 1])

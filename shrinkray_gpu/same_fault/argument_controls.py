"""Controls that turn one argument of a launch, or edit the kernel that the front end refuses.

usual-constant=P    for what the front end refuses: a constant that a tile may be. A fault that vanishes is one of that
                    number, and a number that is written into the kernel is another fault
usual-type=P        for what the front end refuses: a tensor of another type. A fault that vanishes is one of that
other-type=P        tensor's type, and a type that is written into the kernel is another fault
other-constant=P    for a launch out of resources of which the host makes the constants: half of one. And for memory
                    that nobody wrote: a switch of a kernel that could have written it, the other way; and for what
                    the compiler refuses, a switch that the host decides and that leads there
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from shrinkray_gpu.oracle.cause_check import LaunchCauses
from shrinkray_gpu.oracle.fault import FRONT_END, Fault
from shrinkray_gpu.reduction.keep import parts_of
from shrinkray_gpu.runner.inside.knobs.arguments import OTHER_CONSTANT, OTHER_TYPE, USUAL_CONSTANT, USUAL_TYPE
from shrinkray_gpu.runner.inside.static.cause import UNWRITTEN
from shrinkray_gpu.runner.knob_settings import parse_setting
from shrinkray_gpu.same_fault.controls import Control
from shrinkray_gpu.same_fault.cures import CURES

MOST = 24
"""Ways that are tried: each costs a run of the original."""
_KEEP, _KEPT = "# shrink: keep", "# shrink: keep-head"


def of_arguments(fault: Fault, text: str) -> tuple[Control, ...]:
    """Those for this fault of a program; none for another fault."""
    tree = ast.parse(text)
    kernels = [each for each in _functions(tree) if each.decorator_list]
    named = [each for each in kernels if each.name == fault.kernel]
    if not fault.kernel:  # an error that another process passed on
        named = kernels if len(kernels) == 1 else []
    if not named:
        return ()
    kernel = named[0]
    constants, others = _parameters(kernel)
    if fault.phase == "compile" and FRONT_END.search(fault.klass):
        numbers = (f"{USUAL_CONSTANT}={name}" for name in constants)
        types = (f"{knob}={name}" for name in others for knob in (USUAL_TYPE, OTHER_TYPE))
        return _controls((*numbers, *types))
    if fault.phase == "launch" and "out of resource" in fault.klass:
        return _controls(f"{OTHER_CONSTANT}={name}" for name in constants if _is_made(tree, text, kernel, name))
    return ()


def of_front_end(fault: Fault) -> tuple[Control, ...]:
    """Those for what Triton's front end refuses: the kinds of edit that may mend it, see `cures`."""
    if fault.phase != "compile" or not FRONT_END.search(fault.klass):
        return ()
    return tuple(Control(cure.name, cure=cure) for cure in CURES)


def of_switches(causes: LaunchCauses, text: str) -> tuple[Control, ...]:
    """Those for a load from memory that nobody wrote: a kernel may have been told not to."""
    if causes.causes[0].kind != UNWRITTEN:
        return ()
    kernels = _functions(ast.parse(text))
    return _controls(f"{OTHER_CONSTANT}={name}" for kernel in kernels for name in _parameters(kernel)[0])


def of_gates(names: Iterable[str]) -> tuple[Control, ...]:
    """Those for switches that the host decides, and that lead to what the compiler refuses: the mistake may be there,
    and then the other way is the fix."""
    return _controls(f"{OTHER_CONSTANT}={name}" for name in names)


def _controls(ways: Iterable[str]) -> tuple[Control, ...]:
    different = list(dict.fromkeys(ways))[:MOST]
    return tuple(Control(way.name, way) for way in map(parse_setting, different))


def _functions(tree: ast.Module) -> list[ast.FunctionDef]:
    return [each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)]


def _parameters(kernel: ast.FunctionDef) -> tuple[list[str], list[str]]:
    """Those that are constants, and the others."""
    every = [*kernel.args.posonlyargs, *kernel.args.args, *kernel.args.kwonlyargs]
    constants = [each.arg for each in every if _is_constant(each)]
    return constants, [each.arg for each in every if not _is_constant(each)]


def _is_constant(parameter: ast.arg) -> bool:
    return parameter.annotation is not None and "constexpr" in ast.unparse(parameter.annotation)


def _is_made(tree: ast.Module, text: str, kernel: ast.FunctionDef, name: str) -> bool:
    """Whether the host makes a constant and that stays: a statement does, or the launch itself, or an
    autotuner, which no launch tells."""
    lines = text.split("\n")
    if not any(_KEPT in line for line in lines[kernel.lineno - 1 : kernel.body[0].lineno - 1]):
        return False
    calls = [each for each in ast.walk(tree) if isinstance(each, ast.Call) and _launches(each, kernel.name)]
    given = [word.value for each in calls for word in each.keywords if word.arg == name]
    placed = [each.arg for each in (*kernel.args.posonlyargs, *kernel.args.args)]
    given += [value for each in calls for place, value in zip(placed, each.args) if place == name]
    made = {each.id for each in given if isinstance(each, ast.Name)}
    assigned = (each for each in ast.walk(tree) if isinstance(each, ast.Assign) and each.end_lineno)
    kept = (each for each in assigned if _KEEP in lines[(each.end_lineno or 1) - 1])
    parts = [part for call in calls for part in parts_of(lines[(call.end_lineno or 1) - 1])]
    if any(ast.get_source_segment(text, value) in parts for value in given):
        return True
    return not given or any(getattr(target, "id", "") in made for each in kept for target in each.targets)


def _launches(call: ast.Call, kernel: str) -> bool:
    """By the kernel's own name."""
    launched = call.func.value if isinstance(call.func, ast.Subscript) else None
    return kernel in (getattr(launched, "id", ""), getattr(launched, "attr", ""))

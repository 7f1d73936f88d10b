"""Numbers that say for which GPU a kernel is compiled: `GPUTarget("cuda", 90, 32)`, and what comes to stand there.

A fault of the compiler's front end shows with `GPUTarget("cuda", 0, 0)` as well, in the same words; but no such GPU is
there, and whoever mends the fault ends in another one. So the target goes whole, where it may go, or stays.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from shrinkray_gpu.passes.literals import last_name
from shrinkray_gpu.passes.tree import every, within
from shrinkray_gpu.reduction.program import Program

_TARGET = "GPUTarget"


def of_target(program: Program) -> frozenset[cst.CSTNode]:
    """What stands in such a call, and what the names in it are given anywhere, by name: rather too much than too
    little."""
    known: frozenset[cst.CSTNode] | None = program.notes.get(of_target)
    if known is None:
        known = program.notes[of_target] = frozenset(_found(program)) if _TARGET in program.text else frozenset()
    return known


def _found(program: Program) -> Iterator[cst.CSTNode]:
    waiting: list[cst.CSTNode] = [
        arg.value for call in every(program, cst.Call) if last_name(call.func) == _TARGET for arg in call.args
    ]
    given = dict[str, list[cst.CSTNode]]()
    for word, value in _given(program) if waiting else ():
        given.setdefault(word, []).append(value)
    while waiting:
        node = waiting.pop()
        yield from within(program, node, cst.BaseExpression)  # type: ignore[type-abstract]
        for name in within(program, node, cst.Name):
            waiting += given.pop(name.value, ())


def _given(program: Program) -> Iterator[tuple[str, cst.CSTNode]]:
    """Each name that is given a value anywhere, with the value."""
    for assign in every(program, cst.Assign):
        for target in assign.targets:
            yield from ((name.value, assign.value) for name in within(program, target.target, cst.Name))
    for annotated in every(program, cst.AnnAssign):
        if annotated.value is not None:
            yield last_name(annotated.target), annotated.value
    loops: list[cst.For | cst.CompFor] = [*every(program, cst.For), *every(program, cst.CompFor)]
    for loop in loops:
        yield from ((name.value, loop.iter) for name in within(program, loop.target, cst.Name))
    functions = dict[str, list[str]]()
    for function in every(program, cst.FunctionDef):
        functions[function.name.value] = [param.name.value for param in function.params.params]
    for param in every(program, cst.Param):
        if param.default is not None:
            yield param.name.value, param.default
    for call in every(program, cst.Call):
        params = functions.get(last_name(call.func), [])
        for at, arg in enumerate(call.args):
            if arg.keyword is not None:
                yield arg.keyword.value, arg.value
            elif at < len(params):
                yield params[at], arg.value

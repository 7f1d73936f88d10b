"""Another variable of the kernel in the place of a value: one block of offsets for three, one tile for two operands.

A person who writes a repro needs no `cols = tl.arange(0, 16)` beside `rows = tl.arange(0, 16)`, and multiplies a tile
by itself. An expression cut down to its own parts never gets there, since the tile that would do stands elsewhere. So a
variable goes for one that was bound before it (all its reads, with its line), and a long expression for one of those
bound before: the same value first, then the nearest. A mask stays what it is: another might let more through. Host code
has passes of its own for that (`constants`, `arguments`), and knows no tiles.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from shrinkray_gpu.passes.python.expressions import is_value
from shrinkray_gpu.reduction.edit import Edit, Remove, Replace
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.kernels import is_kernel
from shrinkray_gpu.source.masking import is_mask_read
from shrinkray_gpu.source.pinning import assigned_value, replace_reads
from shrinkray_gpu.source.scoping import Binding, bindings
from shrinkray_gpu.source.tree import every, expression_depth, function, source, statement, weight, within

NEAREST = 3
"""Variables offered for one: those bound last before it."""
LONG = 6
"""Tokens of an expression that a variable may stand for: shorter ones are quickly cut down by themselves."""
WHOLE, PART = 0, 1


def find(program: Program) -> Iterator[Edit]:
    homes: dict[cst.FunctionDef | None, list[Binding]] = {}
    for binding in bindings(program):
        homes.setdefault(function(program, binding.places[0]), []).append(binding)
    for kernel in every(program, cst.FunctionDef):
        if is_kernel(program, kernel):
            own = [binding for binding in homes.get(kernel, ()) if _inside(program, binding, kernel)]
            yield from _variables(program, own)
            yield from _expressions(program, kernel, own)


def _inside(program: Program, binding: Binding, kernel: cst.FunctionDef) -> bool:
    """A variable that is assigned in this kernel; parameters are the business of `arguments`."""
    return all(isinstance(place, cst.Name) and function(program, place) is kernel for place in binding.places)


def _variables(program: Program, own: list[Binding]) -> Iterator[Edit]:
    for at, binding in enumerate(own):
        made = assigned_value(program, binding)
        if made is None or not binding.reads or any(is_mask_read(program, read) for read in binding.reads):
            continue
        line, value = made
        text = _plain(program, value)
        alike = [
            other for other in own[:at] if (same := assigned_value(program, other)) and _plain(program, same[1]) == text
        ]
        for other in dict.fromkeys([*alike, *reversed(own[max(0, at - NEAREST) : at])]):
            changes = replace_reads(program, binding.reads, (other.name,))
            if changes is not None and not any(read in binding.reads for read in within(program, line, cst.Name)):
                what = f"{other.name} for {binding.name}"
                yield Edit(what, (*changes, Remove(line)), WHOLE, weight(program, line))


def _expressions(program: Program, kernel: cst.FunctionDef, own: list[Binding]) -> Iterator[Edit]:
    for node in within(program, kernel.body, cst.BaseExpression):  # type: ignore[type-abstract]
        heavy = weight(program, node)
        if heavy < LONG or isinstance(program.parents[node], cst.Expr) or not is_value(program, node):
            continue
        begin = program.spans[statement(program, node)][0]
        before = [binding for binding in own if program.spans[binding.places[0]][0] < begin]
        for other in reversed(before[-NEAREST:]):
            what = f"{other.name} for {type(node).__name__}"
            yield Edit(what, (Replace(node, (other.name,)),), PART + expression_depth(program, node), heavy - 1)


def _plain(program: Program, value: cst.CSTNode) -> str:
    return "".join(source(program, value).split())

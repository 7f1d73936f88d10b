"""A constant of its type in the place of a value in a kernel: `tl.zeros([2, 32], tl.int32)` for a masked load.

What a compiler trips over is mostly the shape and the type of an operand, not where it comes from. With the value goes
all that only it used: offsets, masks, the pointer among the parameters and the tensor that each launch gave for it.
A whole block takes a dozen tokens, so that only both together make the program smaller. Types are those that a watched
run saw. 0 for a number is offered by `expressions`; here it is 0.0 where the value is a floating one.

A load that must stay one may read the same element for all of its tile, without mask or offsets:

    tl.load(x + rows, mask=rows[:, None] < n, other=0.0)    to    tl.load(x + tl.zeros([64, 128], tl.int32))
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import libcst as cst

from shrinkray_gpu.passes.expressions import is_value
from shrinkray_gpu.passes.kernels import parameter_in
from shrinkray_gpu.passes.orphans import orphans, weights
from shrinkray_gpu.passes.tree import ancestors, dotted, function, source, weight
from shrinkray_gpu.passes.typed import Kind, kinds, language
from shrinkray_gpu.reduction.edit import Change, Edit, Remove, Replace
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.size import tokens


def find(program: Program, values: Mapping[int, str]) -> Iterator[Edit]:
    tl = language(program)
    for node, kind in kinds(program, values).items():
        if not isinstance(node, cst.BaseExpression) or not kind.plain or not is_value(program, node):
            continue
        yield from _of_one_element(program, node, kind, tl)
        lost = orphans(program, [node])
        before = weight(program, node) + weights(program, lost)
        for text in _constants(kind, tl, zeros=dotted(getattr(node, "func", None)) == f"{tl}.zeros"):
            gain = before - tokens(text)
            if gain > 0 and "".join(source(program, node).split()) != "".join(text.split()):
                yield Edit(f"{text} for a value", (Replace(node, (text,)), *lost), _depth(program, node), gain)


def _of_one_element(program: Program, load: cst.BaseExpression, kind: Kind, tl: str) -> Iterator[Edit]:
    kernel = function(program, load)
    if kernel is None or not kind.shape or not isinstance(load, cst.Call) or dotted(load.func) != f"{tl}.load":
        return
    parts = [arg.value for arg in load.args]
    pointer = parameter_in(program, kernel, parts[0])
    if pointer is None or load.args[0].keyword is not None:
        return
    text = f" + {_zeros(kind.shape, 'int32', tl)}"
    lost = orphans(program, parts, kept=[pointer])
    gain = weight(program, *load.args) + weights(program, lost) - weight(program, pointer) - tokens(text)
    if gain > 0:
        changes: tuple[Change, ...] = (Replace(parts[0], (pointer, text)), *map(Remove, load.args[1:]), *lost)
        yield Edit("one element for a tile", changes, _depth(program, load), gain)


def _constants(kind: Kind, tl: str, *, zeros: bool) -> list[str]:
    if zeros and len(kind.shape) == 1 and "float" in kind.element:  # shorter; of integers it might be an offset
        return [f"{tl}.arange(0, {kind.shape[0]})"]
    if kind.shape:
        return [_zeros(kind.shape, kind.element, tl)]
    if "float" in kind.element:
        return ["0.0", "1.0"]
    return ["0"] if kind.element in ("int32", "int1") else [f"{tl}.full([], 0, {tl}.{kind.element})"]


def _zeros(shape: tuple[int, ...], element: str, tl: str) -> str:
    return f"{tl}.zeros([{', '.join(map(str, shape))}], {tl}.{element})"


def _depth(program: Program, node: cst.CSTNode) -> int:
    return sum(isinstance(up, cst.BaseExpression) for up in ancestors(program, node))

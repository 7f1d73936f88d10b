"""Masks that have become `True`, and what `other=` says of the elements that they keep out: none.

    tl.load(x + 4096, mask=True, other=0.0)    to    tl.load(x + 4096)

The compiler does the same, and the reader is spared a mask that holds for every element. For the last step only: while
the search goes on the size order takes a mask that is there for one that may keep something out.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from shrinkray_gpu.passes.guards import ACCESSES, guards_of
from shrinkray_gpu.passes.masking import MASK_AT
from shrinkray_gpu.passes.tree import dotted, every, line_number
from shrinkray_gpu.reduction.edit import Edit, Remove
from shrinkray_gpu.reduction.program import Program

_NAMES = frozenset({"mask", "other"})


def find(program: Program) -> Iterator[Edit]:
    for call in every(program, cst.Call):
        name = dotted(call.func)
        if name not in ACCESSES or any(arg.star for arg in call.args):
            continue
        kind = name.rpartition(".")[2]
        guards = guards_of(call, MASK_AT[kind])
        by_position = [arg for arg in guards if arg.keyword is None]
        named = {arg.keyword.value: arg for arg in guards if arg.keyword is not None}
        if len(by_position) > (2 if kind == "load" else 1) or not named.keys() <= _NAMES:
            continue
        mask = by_position[0] if by_position else named.get("mask")
        if mask is not None and dotted(mask.value) == "True":
            others = [arg.value for arg in guards if arg is not mask]
            if all(_is_plain(value) for value in others):
                where = f"at line {line_number(program, call)}"
                yield Edit(f"no mask that is True {where}", tuple(map(Remove, guards)))


def _is_plain(value: cst.BaseExpression) -> bool:
    """Whether nothing is lost with it: a number or a name."""
    return isinstance(value.expression if isinstance(value, cst.UnaryOperation) else value, (cst.BaseNumber, cst.Name))

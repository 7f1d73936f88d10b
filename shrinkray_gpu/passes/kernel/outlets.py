"""What keeps a value alive in a kernel, without memory: `tl.device_print("", v)` for a store.

A compiler throws away what nobody uses, so a kernel has to do something with the value that it fails at. A store needs
a pointer, a mask, a parameter and a tensor for it; a print needs nothing. It takes a whole tile where a pointer takes
one number: the `tl.sum` that made one of it goes as well. The shape is a fault in the middle of a kernel that writes
its result to an output tensor.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from shrinkray_gpu.language.languages import REDUCTIONS
from shrinkray_gpu.reduction.edit import Edit, Replace, Template
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.size import tokens
from shrinkray_gpu.source.kernels import kernel_around
from shrinkray_gpu.source.orphans import orphans, weights
from shrinkray_gpu.source.spelling import name_for, word
from shrinkray_gpu.source.tree import every, line_number, weight

_STORES = frozenset({"store", "atomic_add", "atomic_xchg", "atomic_max", "atomic_min"})


def find(program: Program) -> Iterator[Edit]:
    for line in every(program, cst.Expr):
        call = line.value
        if not isinstance(call, cst.Call) or (kernel := kernel_around(program, line)) is None:
            continue
        printed = name_for(program, kernel, "device_print")
        name = word(program, call.func)
        given = [arg for arg in call.args if arg.keyword is None and not arg.star]
        if name not in _STORES or len(given) < 2 or printed is None:
            continue
        for value in _reduced(program, given[1].value):
            tile = "" if value is given[1].value else " of the tile"
            instead = f"instead of the {name} at line {line_number(program, line)}"
            text = (f'{printed}("", ', value, ")")
            yield from _kept(program, call, value, text, f"print{tile} {instead}")


def _kept(program: Program, call: cst.Call, value: cst.BaseExpression, text: Template, what: str) -> Iterator[Edit]:
    """The value alone, in this text, for the call that it is an argument of."""
    lost = orphans(program, call.args, kept=[value])
    added = sum(tokens(part) for part in text if isinstance(part, str))
    added += sum(weight(program, part) for part in text if isinstance(part, cst.CSTNode))
    gain = weight(program, call) - added + weights(program, lost)
    if gain > 0:  # a print of the same value alone is no shorter: it says "" where the store says the pointer
        yield Edit(what, (Replace(call, text), *lost), weight=gain)


def _reduced(program: Program, value: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """The value itself, then the tile that it is the sum (maximum, ...) of."""
    yield value
    while isinstance(value, cst.Call) and word(program, value.func) in REDUCTIONS:
        tile = next((arg.value for arg in value.args[:1] if arg.keyword is None and not arg.star), None)
        if tile is None:
            return
        value = tile
        yield value

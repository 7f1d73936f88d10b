"""Zeros for a tensor that is filled in another way, and one extent for several.

    torch.randint(1, (2101248, 1024), dtype=torch.int8, device="cuda")    to    torch.zeros(2101248, 1024, ...)
    torch.zeros(2101248, 1024, dtype=torch.int8, device="cuda")           to    torch.zeros(2151677952, ...)

Often it is how much memory a tensor has that matters, and neither what is in it nor how that is laid out. Where the
type is not written down it may become another one: a try tells.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import libcst as cst

from shrinkray_gpu.passes.kernels import in_kernel
from shrinkray_gpu.passes.tree import dotted, every, line_number, source
from shrinkray_gpu.reduction.edit import Edit, Replace
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.size import tokens

_SHAPE_AT = {"full": 0, "randint": -1, "normal": -1}
"""Factories that say with what they fill, and where among the arguments without a name the shape is."""
_BY_EXTENTS = frozenset({"zeros", "ones", "empty", "rand", "randn"})
_OF_ANY = frozenset({"dtype", "device", "requires_grad", "pin_memory", "layout"})
"""Options that every factory has."""


def find(program: Program) -> Iterator[Edit]:
    for call in every(program, cst.Call):
        owner, _, name = dotted(call.func).rpartition(".")
        if owner != "torch" or in_kernel(program, call):
            continue
        given = [arg.value for arg in call.args if arg.keyword is None and not arg.star]
        named = {arg.keyword.value: arg for arg in call.args if arg.keyword is not None}
        if name in _SHAPE_AT and (extents := _extents(given, named, _SHAPE_AT[name])):
            options = [arg for option, arg in named.items() if option in _OF_ANY]
            yield from _made(program, call, "zeros", [source(program, each) for each in extents], options)
        elif name in _BY_EXTENTS and len(given) > 1 and len(given) + len(named) == len(call.args):
            numbers = [int(each.value, 0) for each in given if isinstance(each, cst.Integer)]
            if len(numbers) == len(given):
                yield from _made(program, call, name, [str(math.prod(numbers))], [*named.values()])


def _extents(given: Sequence[cst.BaseExpression], named: dict[str, cst.Arg], at: int) -> Sequence[cst.BaseExpression]:
    """Those of the tensor, where they are written one by one; else nothing."""
    shape = named["size"].value if "size" in named else given[at] if len(given) > 1 else None
    return [each.value for each in shape.elements] if isinstance(shape, (cst.Tuple, cst.List)) else []


def _made(
    program: Program, call: cst.Call, factory: str, extents: Sequence[str], options: Sequence[cst.Arg]
) -> Iterator[Edit]:
    words = [*extents, *(source(program, arg).rstrip().removesuffix(",") for arg in options)]
    text = f"torch.{factory}({', '.join(words)})"
    if (gain := tokens(source(program, call)) - tokens(text)) > 0:
        what = " ".join(source(program, call).split())
        yield Edit(
            f"{text[:40]} for {what[:40]} at line {line_number(program, call)}", (Replace(call, (text,)),), 0, gain
        )

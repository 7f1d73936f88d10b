"""A constant for what was computed: 0 or 1, in the operation's own type."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from shrinkray_gpu.intermediate.model import IrModule, Operation, every, terminators
from shrinkray_gpu.intermediate.rewriting import changed
from shrinkray_gpu.intermediate.search import Family

_SCALAR = re.compile(r"(?:i\d+|index)")
_FLOAT = re.compile(r"(?:f\d+|bf16)")
_TENSOR = re.compile(r"tensor<(?:\d+x)+(i\d+|f\d+|bf16)(?:,.*)?>", re.S)


def value(kind: str, number: int) -> str:
    """The text of a constant of this type; empty where the type has none."""
    if kind == "i1":
        return "true" if number else "false"
    if _SCALAR.fullmatch(kind):
        return f"{number} : {kind}"
    if _FLOAT.fullmatch(kind):
        return f"{number}.0 : {kind}"
    if found := _TENSOR.fullmatch(kind):
        inner = value(found[1], number).partition(" : ")[0]
        return f"dense<{inner}> : {kind}"
    return ""


def find(module: IrModule) -> Iterator[tuple[int, int]]:
    """Operations by their keys, and the number."""
    ends = terminators(module)
    for each in every(module.top):
        if len(each.results) == 1 and each.name != "arith.constant" and each.key not in ends:
            if value(each.results[0].type, 0):
                yield from ((each.key, number) for number in (0, 1))


def apply(module: IrModule, chosen: Sequence[tuple[int, int]]) -> IrModule:
    numbers = dict(chosen)

    def constant(each: Operation) -> Sequence[Operation]:
        if each.key not in numbers or len(each.results) != 1:  # a call may have lost what it gave
            return (each,)
        said = value(each.results[0].type, numbers[each.key])
        return (Operation(each.key, "arith.constant", each.results, properties=(("value", said),)),)

    return changed(module, constant)


FAMILY = Family("constants", find, apply)

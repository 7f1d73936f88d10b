"""Tiles and shapes first: large numbers that move together, since they decide what every later try costs.

A 256x128x64 matmul compiles in 3.1 s, a 32x32x32 one in 0.12 s. Single numbers wait for `numbers`: most of the places
where they stand are gone by then.

What needs so many bytes (shared memory that does not suffice, a row of a descriptor) needs a smaller tile where its
elements grow: the `dtype` of a tensor that has two bytes goes with half of a tile's size, and one alone would not do.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from shrinkray_gpu.passes.kernels import in_kernel
from shrinkray_gpu.passes.literals import last_name
from shrinkray_gpu.passes.numbers import ALONE, by_value, is_power, together
from shrinkray_gpu.passes.tree import every
from shrinkray_gpu.reduction.edit import Edit, Remove, Replace
from shrinkray_gpu.reduction.program import Program

LARGE = 32
OF_TWO_BYTES = frozenset({"float16", "half", "bfloat16"})


def find(program: Program) -> Iterator[Edit]:
    yield from together(program, above=LARGE)
    yield from _wider(program)


def _wider(program: Program) -> Iterator[Edit]:
    """Elements of four bytes, the default, in half as many places."""
    types = [
        Remove(arg)
        for arg in every(program, cst.Arg)
        if arg.keyword is not None and arg.keyword.value == "dtype" and last_name(arg.value) in OF_TWO_BYTES
        if not in_kernel(program, arg)
    ]
    if not types:
        return
    for number, nodes in by_value(every(program, cst.Integer)).items():
        if number <= LARGE or not is_power(number):
            continue
        for places in [nodes, *([node] for node in nodes if len(nodes) > 1)]:
            halved = tuple(Replace(node, (str(number // 2),)) for node in places)
            yield Edit(f"elements of four bytes, {number} to {number // 2}", (*types, *halved), level=ALONE)

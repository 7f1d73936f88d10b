"""Tiles and shapes first: large numbers that move together, since they decide what every later try costs.

A 256x128x64 matmul compiles in 3.1 s, a 32x32x32 one in 0.12 s. Single numbers wait for `numbers`: most of the places
where they stand are gone by then. The shape is a tiled kernel: a matrix product, attention, a convolution.
"""

from __future__ import annotations

from collections.abc import Iterator

from shrinkray_gpu.passes.python.numbers import together
from shrinkray_gpu.reduction.edit import Edit
from shrinkray_gpu.reduction.program import Program

LARGE = 32


def find(program: Program) -> Iterator[Edit]:
    yield from together(program, above=LARGE)

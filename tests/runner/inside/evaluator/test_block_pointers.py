"""What a block pointer declares is what its copies hang on: extents bound them, strides are factors."""

from __future__ import annotations

import pytest

from shrinkray_gpu.runner.inside.static.cause import EXTENT, STRIDE
from tests.runner.inside.conftest import Play
from tests.runner.inside.evaluator.test_indices import causes

PROGRAM = """
import torch, triton, triton.language as tl


@triton.jit
def tiles(x, rows, cols, stride):
    at = tl.program_id(0) * 16
    block = tl.make_block_ptr(x, (rows, cols), (stride, 1), (at, 0), (16, 64), (1, 0))
    tl.device_print("", tl.load(block, boundary_check=(0, 1)))


tiles[(4,)](torch.zeros(50, 40, device="cuda"), ROWS, 40, STRIDE)
"""


@pytest.mark.parametrize(
    ("rows", "stride", "kind", "name", "values"),
    [(64, 40, EXTENT, "rows", (64, 50)), (50, 80, STRIDE, "stride", (80, 40))],
)
def test_what_is_declared_and_is_not_the_tensors(
    play: Play, rows: int, stride: int, kind: str, name: str, values: tuple[int, int]
) -> None:
    seen = causes(play, PROGRAM.replace("ROWS", str(rows)).replace("STRIDE", str(stride)))
    assert seen is not None
    found = seen.causes[0]
    assert (found.kind, found.name, tuple(found.values), found.inputs) == (kind, name, values, ("argument",))

"""Gluon kernels: layouts are written down as the calls that make them, in constexprs, globals and descriptors."""

from __future__ import annotations

import pytest

from tests.lift.conftest import Lift, same_launch

pytest.importorskip("triton.experimental.gluon")

HEAD = """
import torch, triton
from triton.experimental import gluon
from triton.experimental.gluon import language as ttgl
"""


def test_a_layout_as_constexpr_and_as_global(lifted: Lift) -> None:
    found = lifted(
        HEAD
        + """
ROWS: ttgl.constexpr = ttgl.BlockedLayout([2], [32], [4], [0])

@gluon.jit
def copy(x, y, N: ttgl.constexpr, columns: ttgl.constexpr):
    i = ttgl.arange(0, N, layout=ROWS)
    j = ttgl.arange(0, N, layout=ttgl.SliceLayout(0, columns))
    ttgl.store(y + j, ttgl.load(x + j))
    ttgl.store(y + i, ttgl.load(x + i))

x = torch.zeros(256, device="cuda")
copy[(1,)](x, x, 256, columns=ttgl.BlockedLayout([1, 1], [4, 8], [4, 1], [1, 0]))
torch.cuda.synchronize()
"""
    )
    [launch] = found.original.launches
    same_launch(found.original, launch, found.again)
    assert "from triton.experimental.gluon import language as gl" in found.text
    assert "columns=gl.BlockedLayout([1, 1], [4, 8], [4, 1], [1, 0])" in found.text
    assert "ROWS = tl.constexpr(gl.BlockedLayout([2], [32], [4], [0]))" in found.text


def test_a_descriptor_keeps_its_layout(lifted: Lift) -> None:
    pytest.importorskip("triton.experimental.gluon.nvidia.hopper")
    found = lifted(
        HEAD
        + """
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

@gluon.jit
def load(tiles, out, N: ttgl.constexpr, layout: ttgl.constexpr):
    tile = ttgl.allocate_shared_memory(tiles.dtype, tiles.block_shape, tiles.layout)
    arrived = ttgl.allocate_shared_memory(ttgl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(arrived, count=1)
    mbarrier.expect(arrived, tiles.block_type.nbytes)
    tma.async_copy_global_to_shared(tiles, [0, 0], arrived, tile)
    mbarrier.wait(arrived, phase=0)
    rows = ttgl.arange(0, N, layout=ttgl.SliceLayout(1, layout))
    columns = ttgl.arange(0, N, layout=ttgl.SliceLayout(0, layout))
    ttgl.store(out + rows[:, None] * N + columns[None, :], tile.load(layout))

x = torch.ones(64, 64, device="cuda")
shared = ttgl.NVMMASharedLayout.get_default_for([16, 16], ttgl.float32)
load[(1,)](
    TensorDescriptor.from_tensor(x, [16, 16], shared), torch.empty(16, 16, device="cuda"), 16,
    ttgl.BlockedLayout([1, 1], [4, 8], [4, 1], [1, 0]), num_warps=4,
)
torch.cuda.synchronize()
"""
    )
    [launch] = found.original.launches
    same_launch(found.original, launch, found.again)
    assert "from triton.experimental.gluon.nvidia.hopper import TensorDescriptor" in found.text
    assert "TensorDescriptor.from_tensor(tiles, [16, 16], gl.NVMMASharedLayout(64, 32))" in found.text

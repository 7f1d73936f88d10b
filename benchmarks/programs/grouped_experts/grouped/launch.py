"""Choosing a configuration and launching."""

import functools

import torch
import triton

from .kernels import grouped_kernel, row_scale_kernel

CONFIGS = {
    "small": dict(BLOCK_M=64, BLOCK_N=64, BLOCK_K=64, GROUP=4, num_warps=4),
    "wide": dict(BLOCK_M=64, BLOCK_N=128, BLOCK_K=32, GROUP=8, num_warps=8, num_stages=3),
}


def set_workspace() -> None:
    def allocate(size, align, stream):
        return torch.empty(size, dtype=torch.int8, device="cuda")

    triton.set_allocator(allocate)


@functools.cache
def choose(columns: int) -> str:
    return "wide" if columns >= 256 else "small"


def grouped_matmul(x, w, scales=None, activate=False, sliced=False):
    rows, depth = x.shape
    columns = w.shape[1]
    config = dict(CONFIGS[choose(columns)])
    y = torch.zeros(rows, columns, dtype=x.dtype, device=x.device)
    tiles = triton.cdiv(rows, config["BLOCK_M"]) * triton.cdiv(columns, config["BLOCK_N"])
    grouped_kernel[(tiles,)](
        x, w, y, rows, columns, depth, depth // config["BLOCK_K"], ACTIVATE=activate, SLICED=sliced, **config
    )
    if scales is not None:
        row_scale_kernel[(rows,)](y, scales, columns, BLOCK=128)
    return y

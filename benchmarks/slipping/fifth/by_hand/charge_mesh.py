import os

os.environ["TRITON_INTERPRET"] = "1"

import torch
import triton
import triton.language as tl


@triton.jit
def drift_kernel(positions):
    tl.store(positions, 1)


@triton.jit
def cell_kernel(positions, cells):
    tl.store(cells, tl.load(positions))


@triton.jit
def deposit_kernel(cells, mesh):
    tl.store(mesh + tl.load(cells), 1)


positions, cells = torch.zeros(2, dtype=torch.int32)
found = None
for number in range(2):
    now = positions.data_ptr()
    if found != now:
        cell_kernel[(1,)](positions, cells)
        found = now
    mesh = torch.zeros(2)
    deposit_kernel[(1,)](cells, mesh)
    assert mesh[positions] == 1, "the meshes disagree"
    drift_kernel[(1,)](positions)

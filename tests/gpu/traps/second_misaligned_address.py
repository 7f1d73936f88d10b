# shrink --oracle "misaligned address"
# lure: the descriptor kernel after it: also a misaligned address, but in shared memory and of another cause
# must: multiple_of
# must not: make_tensor_descriptor
# ends: 1 misaligned address
# fault: device fault: misaligned address
# naive: no guards
"""Copies a view with a promise about its alignment that is not kept, then sums its rows by descriptor."""

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, y_ptr, start, BLOCK: tl.constexpr):
    first = tl.program_id(0) * BLOCK
    at = tl.arange(0, BLOCK)
    tl.store(y_ptr + first + at, tl.load(x_ptr + tl.multiple_of(start + first, 4) + at))


@triton.jit
def row_sum_kernel(x_ptr, out_ptr, columns, TILE: tl.constexpr):
    rows = tl.make_tensor_descriptor(x_ptr, shape=[8, columns], strides=[columns, 1], block_shape=[1, TILE])
    total = tl.zeros([1, TILE], tl.float32)
    for start in tl.range(0, columns, TILE, num_stages=4):
        total += rows.load([tl.program_id(0), start])
    tl.store(out_ptr + tl.program_id(0), tl.sum(total))


def copy(x, start):
    y = torch.empty(2048, device=x.device)
    copy_kernel[(2,)](x, y, start, BLOCK=1024, num_warps=4)
    torch.cuda.synchronize()
    return y


def row_sum(x):
    out = torch.zeros(8, device=x.device)
    row_sum_kernel[(8,)](x, out, 64, TILE=4)
    torch.cuda.synchronize()
    return out


triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
x = torch.ones(4096, device="cuda")
for start in (4, 7):
    print(start, copy(x, start).sum().item())
print(row_sum(x.view(64, 64)[:8]).sum().item())

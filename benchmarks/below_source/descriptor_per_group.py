"""Sums of squares of groups of matrices, each through a descriptor of its own."""

import torch
import triton
import triton.language as tl


@triton.jit
def grouped(x, out, groups, SIZE: tl.constexpr):
    total = tl.zeros([SIZE, SIZE], tl.float32)
    for group in range(groups):
        matrix = tl.make_tensor_descriptor(
            x + group * SIZE * SIZE, shape=[SIZE, SIZE], strides=[SIZE, 1], block_shape=[SIZE, SIZE]
        )
        tile = matrix.load([0, 0])
        total = tl.dot(tile, tile, total)
    place = tl.arange(0, SIZE)[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
    tl.store(out + place, total)


triton.set_allocator(lambda size, alignment, stream: torch.empty(size, device="cuda", dtype=torch.int8))
x = torch.randn(4, 64, 64, device="cuda", dtype=torch.float16)
out = torch.empty(64, 64, device="cuda")
grouped[(1,)](x, out, 4, SIZE=64)

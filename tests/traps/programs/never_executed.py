# shrink --arch sm_90 --oracle "misaligned address"
# lure: a loop of no rounds, a grid of nothing, a host that does not wait: the code has the fault still, nobody meets it
# must: num_stages
# must: synchronize\(|\.item\(|\.cpu\(|\.tolist\(
# must not: \w\[\(?0
# check: static:tma-alignment
# fault: misaligned address.*\b\w+
# naive: oracle ttgir:memdesc<\dx1x4xf32
"""Row sums of narrow tiles by descriptor, with a deep pipeline."""

import torch
import triton
import triton.language as tl


@triton.jit
def row_sum_kernel(x_ptr, out_ptr, columns, TILE: tl.constexpr, STAGES: tl.constexpr):
    rows = tl.make_tensor_descriptor(x_ptr, shape=[8, columns], strides=[columns, 1], block_shape=[1, TILE])
    total = tl.zeros([1, TILE], tl.float32)
    for start in tl.range(0, columns, TILE, num_stages=STAGES):
        total += rows.load([tl.program_id(0), start])
    tl.store(out_ptr + tl.program_id(0), tl.sum(total))


def row_sum(x, tile, stages):
    out = torch.zeros(x.shape[0], device=x.device)
    row_sum_kernel[(x.shape[0],)](x, out, x.shape[1], TILE=tile, STAGES=stages)
    return out


triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
x = torch.ones(8, 64, device="cuda")
for tile, stages in ((32, 2), (4, 4)):
    print(tile, row_sum(x, tile, stages)[0].item())

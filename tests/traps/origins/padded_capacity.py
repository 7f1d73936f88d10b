# shrink --arch sm_90 --oracle static:bounds --skip-pass lift --skip-pass names
# lure: a descriptor of an empty tensor, or of a shape that nobody computed
# cured by: shape=\[[^,]*capacity[^,]*, => shape=[1,
"""Column maxima of the room that all experts have for tokens, read by descriptor: beyond the tokens there are zeros."""

import torch
import triton
import triton.language as tl

EXPERTS = 32


@triton.jit
def peak_kernel(x_ptr, out_ptr, tokens, capacity, width, EXPERTS: tl.constexpr, ROWS: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, shape=[capacity * EXPERTS, width], strides=[width, 1], block_shape=[ROWS, 64])
    column = tl.program_id(0) * 64
    peak = tl.full([64], float("-inf"), tl.float32)
    for row in range(0, capacity * EXPERTS, ROWS):
        peak = tl.maximum(peak, tl.max(x.load([row, column]), axis=0))
    tl.store(out_ptr + column + tl.arange(0, 64), peak)


def peaks(x, capacity):
    tokens, width = x.shape
    out = torch.empty(width, device="cuda")
    peak_kernel[(width // 64,)](x, out, tokens, capacity, width, EXPERTS=EXPERTS, ROWS=16)
    return out


triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
x = torch.randn(120, 256, device="cuda")
print("full", peaks(torch.randn(4 * EXPERTS, 256, device="cuda"), 4).max().item())
print("loose", peaks(x, 80).max().item())

# shrink --oracle "illegal memory access"
# lure: the exit handler, which prints the words whatever the driver says
# must: tl\.store\(
# then: import torch; torch.cuda.synchronize()
# ends: 1 AcceleratorError: CUDA error: (an illegal memory access|operation not supported on global)
# fault: device fault: (an illegal memory access|operation not supported on global)
# naive: output illegal memory access
"""Benchmark without a wait at its end: an error shows in the exit handler only."""

import atexit

import torch
import triton
import triton.language as tl

HINTS = {
    "illegal memory access": "check the strides",
    "misaligned address": "check the descriptors",
}


@triton.jit
def fill_kernel(out_ptr, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    tl.store(out_ptr + row * stride + tl.arange(0, BLOCK), 1.0)


@atexit.register
def report():
    for words, hint in HINTS.items():
        print(f"if it ended in {words!r}: {hint}")
    try:
        torch.cuda.synchronize()
    except RuntimeError as error:
        print("the last kernel failed:", error)


def fill(rows, stride):
    out = torch.empty(rows, 256, device="cuda")
    fill_kernel[(rows,)](out, stride, BLOCK=256)
    return out


print(fill(16, 256).sum().item())
fill(16, 1 << 33)

# shrink --oracle "illegal memory access"
# lure: any operation at all: after the first fault each call in the process says the words, the harmless ones too
# must: tl\.store\(
# ends: 1 illegal memory access|operation not supported on global
# fault: device fault: (an illegal memory access|operation not supported on global)
# naive: worker illegal memory access
"""Tries the variants of a scatter; one that fails is skipped, and the next one meets the same error."""

import torch
import triton
import triton.language as tl


@triton.jit
def scatter_kernel(x_ptr, out_ptr, stride, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    tl.store(out_ptr + tl.program_id(0).to(tl.int64) * stride + at, x)


@triton.jit
def copy_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at))


def scatter(x, out, stride):
    scatter_kernel[(4,)](x, out, stride, BLOCK=256)


def copy(x, out):
    copy_kernel[(1,)](x, out, BLOCK=256)


def timed(name, run):
    run()
    torch.cuda.synchronize()
    print(name, "ok")


x = torch.ones(256, device="cuda")
out = torch.zeros(1024, device="cuda")
for stride in (256, 1 << 33):
    try:
        timed(f"scatter by {stride}", lambda stride=stride: scatter(x, out, stride))
    except RuntimeError as error:
        print(f"scatter by {stride} is skipped: {error}")
timed("copy", lambda: copy(x, out))

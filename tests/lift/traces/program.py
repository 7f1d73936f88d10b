"""Launches of four kernels, traced. What a trace has to tell: helpers, constants, views, odd arguments, a fault."""

import sys

import torch
import triton
import triton.language as tl
import tritonparse.structured_logging
from triton.language.extra import libdevice
from triton.tools.tensor_descriptor import TensorDescriptor

BIAS = tl.constexpr(3)


@triton.jit
def scaled(v, by):
    return libdevice.exp(v * by) + BIAS


@triton.autotune([triton.Config({"B": 128}, num_warps=2)], key=["n"])
@triton.heuristics({"EVEN": lambda args: args["n"] % args["B"] == 0})
@triton.jit(do_not_specialize=["k"], launch_metadata=None)
def rows(src: torch.Tensor, dst, none, n, k, flag, ends, B: tl.constexpr, EVEN: tl.constexpr, T: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(src + i, mask=i < n).to(T)
    tl.store(dst + i + ends[1], scaled(x, k), mask=(i < n) & flag)


@triton.jit
def gather(src, index, dst, many: tl.constexpr, OF: tl.constexpr):
    i = tl.arange(0, many)
    tl.store(dst + i, OF(tl.load(src + tl.load(index + i)).to(tl.float32), 2.0))


@triton.jit
def add(tiles, out, cols, C: tl.constexpr):
    total = tl.zeros([1, C], tl.float32)
    for col in tl.range(0, cols, C):
        total += tiles.load([0, col])
    tl.store(out, tl.sum(total))


@triton.jit
def add_tiles(src, dst, rows, cols, R: tl.constexpr, C: tl.constexpr, S: tl.constexpr):
    tiles = tl.make_tensor_descriptor(src, shape=[rows, cols], strides=[cols, 1], block_shape=[R, C])
    total = tl.zeros([R, C], tl.float32)
    for col in tl.range(0, cols, C, num_stages=S):
        total += tiles.load([tl.program_id(0) * R, col])
    tl.store(dst + tl.arange(0, R), tl.sum(total, axis=1))


def main(folder, how):
    tritonparse.structured_logging.init(
        folder,
        enable_trace_launch=True,
        enable_more_tensor_information=how == "full",
        enable_full_python_source=how == "full",
    )
    triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
    x, y = torch.ones(8, 64, device="cuda"), torch.ones(8, device="cuda")
    wide, far = torch.zeros(1000, device="cuda", dtype=torch.float16), float("inf")
    for size in (1000, 512):
        grid = lambda meta: (triton.cdiv(size, meta["B"]),)  # noqa: B023, E731
        rows[grid](wide[:size], torch.zeros(1065, device="cuda")[1:], None, size, far, True, (0, 7), T=tl.float32)
    gather[(1,)](wide, torch.arange(900, 932, device="cuda"), torch.zeros(32, device="cuda"), many=32, OF=scaled)
    add[(1,)](TensorDescriptor.from_tensor(x[::2], [1, 4]), x[7:], 64, C=4)
    add_tiles[(8,)](x, y, *x.shape, R=1, C=4, S=4, num_warps=2)
    torch.cuda.synchronize()


main(*sys.argv[1:])

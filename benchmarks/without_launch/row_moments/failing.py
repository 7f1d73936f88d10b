"""Warms up the statistics kernels of a normalisation layer before the server takes requests."""

import argparse
import time

import torch
import triton
import triton.language as tl

DTYPES = {"half": torch.float16, "bfloat16": torch.bfloat16, "float": torch.float32}


@triton.jit
def load_row(x_ptr, row, start, cols, BLOCK: tl.constexpr):
    offsets = start + tl.arange(0, BLOCK)
    mask = offsets < cols
    return tl.load(x_ptr + row * cols + offsets, mask=mask, other=0.0).to(tl.float32), mask


@triton.jit
def mean_kernel(x_ptr, mean_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = 0.0
    for start in range(0, cols, BLOCK):
        x, mask = load_row(x_ptr, row, start, cols, BLOCK)
        total += tl.sum(x, axis=0)
    tl.store(mean_ptr + row, total / cols)


@triton.jit
def variance_kernel(x_ptr, mean_ptr, var_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    mean = tl.load(mean_ptr + row)
    count = 0
    spread = tl.zeros([BLOCK], tl.float32)
    for start in range(0, cols, BLOCK):
        x, mask = load_row(x_ptr, row, start, cols, BLOCK)
        centred = tl.where(mask, x - mean, 0.0)
        spread += centred * centred
        count += tl.sum(mask.to(tl.float32), axis=0)
    tl.store(var_ptr + row, tl.sum(spread, axis=0) / count)


@triton.jit
def normalise_kernel(x_ptr, mean_ptr, var_ptr, out_ptr, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < cols
    x = tl.load(x_ptr + row * cols + offsets, mask=mask, other=0.0).to(tl.float32)
    y = (x - tl.load(mean_ptr + row)) / tl.sqrt(tl.load(var_ptr + row) + eps)
    tl.store(out_ptr + row * cols + offsets, y, mask=mask)


class Warmer:
    """Compiles each kernel for each type and block size that the server may meet."""

    def __init__(self, dtype, blocks):
        self.dtype = dtype
        self.blocks = blocks
        self.times = {}

    def warm(self, kernel, *args, **constants):
        begin = time.perf_counter()
        compiled = kernel.warmup(*args, grid=(1,), **constants)
        self.times[kernel.fn.__name__, tuple(constants.items())] = time.perf_counter() - begin
        return compiled

    def all(self):
        f32 = torch.float32
        for block in self.blocks:
            self.warm(mean_kernel, self.dtype, f32, 4096, BLOCK=block)
            self.warm(normalise_kernel, self.dtype, f32, f32, self.dtype, 4096, 1e-5, BLOCK=block)
        for block in self.blocks:
            self.warm(variance_kernel, self.dtype, f32, f32, 4096, BLOCK=block)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dtype", choices=sorted(DTYPES), default="half")
    parser.add_argument("--blocks", default="256,1024")
    args = parser.parse_args()
    warmer = Warmer(DTYPES[args.dtype], [int(text) for text in args.blocks.split(",")])
    warmer.all()
    for (name, constants), seconds in warmer.times.items():
        print(f"{name:20} {dict(constants)} {seconds * 1000:.0f} ms")


if __name__ == "__main__":
    main()

"""Precompiles projection kernels in all their shapes, so that a first request does not wait for the compiler."""

import argparse
from dataclasses import dataclass, replace

import torch
import triton
import triton.language as tl


@dataclass(frozen=True)
class Shape:
    rows: int
    cols: int
    inner: int
    block_m: int = 64
    block_n: int = 64
    block_k: int = 64
    specialise: bool = False
    warps: int = 4
    stages: int = 3

    def constants(self):
        return {"BM": self.block_m, "BN": self.block_n, "BK": self.block_k, "SPECIALISE": self.specialise}


SHAPES = [Shape(1024, 1024, 512), Shape(4096, 1024, 512, block_m=128), Shape(512, 2048, 1024)]


@triton.jit
def tile_of(pid, rows, cols, BM: tl.constexpr, BN: tl.constexpr, GROUP: tl.constexpr):
    wide = GROUP * tl.cdiv(cols, BN)
    first = (pid // wide) * GROUP
    height = tl.minimum(tl.cdiv(rows, BM) - first, GROUP)
    return first + (pid % wide) % height, (pid % wide) // height


@triton.jit
def project_kernel(
    x_ptr, w_ptr, y_ptr, rows, cols, inner, scale,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPECIALISE: tl.constexpr,
):  # fmt: skip
    pid_m, pid_n = tile_of(tl.program_id(0), rows, cols, BM, BN, 8)
    m = pid_m * BM + tl.arange(0, BM)
    n = pid_n * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros([BM, BN], tl.float32)
    for start in tl.range(0, inner, BK, warp_specialize=SPECIALISE):
        x = tl.load(x_ptr + m[:, None] * inner + start + k[None, :], mask=(m < rows)[:, None], other=0.0)
        w = tl.load(w_ptr + (start + k)[:, None] * cols + n[None, :], mask=(n < cols)[None, :], other=0.0)
        acc = tl.dot(x, w, acc)
    mask = (m < rows)[:, None] & (n < cols)[None, :]
    tl.store(y_ptr + m[:, None] * cols + n[None, :], (acc * scale).to(tl.float16), mask=mask)


@triton.jit
def bias_kernel(y_ptr, bias_ptr, cols, BN: tl.constexpr):
    row = tl.program_id(0)
    n = tl.arange(0, BN)
    y = tl.load(y_ptr + row * cols + n, mask=n < cols)
    tl.store(y_ptr + row * cols + n, y + tl.load(bias_ptr + n, mask=n < cols), mask=n < cols)


def precompile(shape):
    half = torch.float16
    project = project_kernel.warmup(
        half, half, half, shape.rows, shape.cols, shape.inner, 0.125,
        grid=(triton.cdiv(shape.rows, shape.block_m) * triton.cdiv(shape.cols, shape.block_n),),
        num_warps=shape.warps, num_stages=shape.stages, **shape.constants(),
    )  # fmt: skip
    bias = bias_kernel.warmup(half, half, shape.cols, BN=triton.next_power_of_2(shape.cols), grid=(shape.rows,))
    return project.metadata.shared, bias.metadata.shared


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--no-specialise", action="store_true")
    args = parser.parse_args()
    shapes = list(SHAPES)
    if not args.no_specialise:
        shapes += [replace(shape, specialise=True) for shape in SHAPES]
    for shape in shapes:
        print(shape, precompile(shape))


if __name__ == "__main__":
    main()

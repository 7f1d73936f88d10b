"""Split-K matmul for few rows and a great depth, with a tuning table by depth; partial sums by a second kernel."""

import argparse
import bisect
from dataclasses import dataclass, replace

import torch
import triton
import triton.language as tl


@dataclass(frozen=True)
class Config:
    m: int = 64
    n: int = 64
    k: int = 64
    split: int = 2
    stages: int = 3
    warps: int = 4

    def keywords(self) -> dict:
        return {"BLOCK_M": self.m, "BLOCK_N": self.n, "BLOCK_K": self.k, "SPLIT": self.split}

    def launch(self) -> dict:
        return {"num_stages": self.stages, "num_warps": self.warps}


BASE = Config()
TABLE = [
    (512, BASE),
    (2048, replace(BASE, k=128, split=4)),
    (8192, replace(BASE, k=256, split=8, stages=4)),
]


def choose(depth: int) -> Config:
    return TABLE[min(bisect.bisect_left([limit for limit, _ in TABLE], depth), len(TABLE) - 1)][1]


@triton.jit
def partial_kernel(
    a_ptr, b_ptr, part_ptr, rows, columns, depth,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, SPLIT: tl.constexpr,
):
    rm = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    part = tl.program_id(2)
    rk = part * BLOCK_K + tl.arange(0, BLOCK_K)
    acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for start in range(0, depth, BLOCK_K * SPLIT):
        k = start + rk
        a = tl.load(
            a_ptr + rm[:, None] * depth + k[None, :], mask=(rm < rows)[:, None] & (k < depth)[None, :], other=0.0
        )
        b = tl.load(
            b_ptr + k[:, None] * columns + rn[None, :], mask=(k < depth)[:, None] & (rn < columns)[None, :], other=0.0
        )
        acc = tl.dot(a, b, acc)
    at = part * rows * columns + rm[:, None] * columns + rn[None, :]
    tl.store(part_ptr + at, acc, mask=(rm < rows)[:, None] & (rn < columns)[None, :])


@triton.jit
def sum_kernel(part_ptr, bias_ptr, out_ptr, total, columns, SPLIT: tl.constexpr, BLOCK: tl.constexpr, RELU: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < total
    acc = tl.load(bias_ptr + offsets % columns, mask=inside, other=0.0)
    for part in tl.static_range(SPLIT):
        acc += tl.load(part_ptr + part * total + offsets, mask=inside, other=0.0)
    if RELU:
        acc = tl.maximum(acc, 0.0)
    tl.store(out_ptr + offsets, acc.to(tl.float16), mask=inside)


def matmul(a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor, relu: bool = False) -> torch.Tensor:
    (rows, depth), columns = a.shape, b.shape[1]
    config = choose(depth)
    parts = torch.zeros(config.split, rows, columns, device=a.device)
    grid = (triton.cdiv(rows, config.m), triton.cdiv(columns, config.n), config.split)
    partial_kernel[grid](a, b, parts, rows, columns, depth, **config.keywords(), **config.launch())
    out = torch.zeros(rows, columns, dtype=torch.float16, device=a.device)
    sum_kernel[(triton.cdiv(out.numel(), 256),)](
        parts, bias, out, out.numel(), columns, SPLIT=config.split, BLOCK=256, RELU=relu
    )
    return out


class Stack:
    """Linear layers one after another, as deep as the list of widths says."""

    def __init__(self, widths: list[int]):
        self.weights = [
            (torch.randn(one, other, device="cuda") / one**0.5).half() for one, other in zip(widths, widths[1:])
        ]
        self.biases = [torch.zeros(width, device="cuda") for width in widths[1:]]

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        last = len(self.weights) - 1
        for index, (weight, bias) in enumerate(zip(self.weights, self.biases)):
            x = matmul(x, weight, bias, relu=index < last)
            torch.cuda.synchronize()
            print(f"layer {index}: {tuple(weight.shape)} {choose(weight.shape[0])}")
        return x


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=48)
    parser.add_argument("--widths", type=int, nargs="*", default=[256, 1024, 4096, 128])
    args = parser.parse_args()
    torch.manual_seed(8)
    stack = Stack(args.widths)
    y = stack(torch.randn(args.rows, args.widths[0], device="cuda").half())
    print(tuple(y.shape), float(y.float().abs().mean()))


if __name__ == "__main__":
    main()

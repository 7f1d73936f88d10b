"""Norms with a residual and quantised activations; the plan of a launch is made once and kept."""

import argparse
import math
import threading
from dataclasses import dataclass

import torch
import triton
import triton.language as tl


@dataclass(frozen=True)
class Plan:
    block: int
    warps: int
    rows_a_program: int


class Planner:
    """Plans are found by what they were made for; a lock guards them, since several streams ask."""

    def __init__(self, warp_elements: int = 256):
        self.warp_elements = warp_elements
        self.lock = threading.Lock()
        self.plans = {}
        self.made = 0

    def make(self, rows: int, columns: int) -> Plan:
        self.made += 1
        block = triton.next_power_of_2(columns)
        warps = min(8, max(1, block // self.warp_elements))
        return Plan(block, 1 << int(math.log2(warps)), 1 if rows < 4096 else 4)

    def __call__(self, x: torch.Tensor) -> Plan:
        rows, columns = x.shape
        key = (rows, x.dtype, x.device.type)
        with self.lock:
            if key not in self.plans:
                self.plans[key] = self.make(rows, columns)
            return self.plans[key]


PLANNER = Planner()


@triton.jit
def mean_square(x, columns):
    return tl.sum(x * x, axis=0) / columns


@triton.jit
def rms_kernel(
    x, residual, weight, out, rows, eps,
    COLUMNS: tl.constexpr, BLOCK: tl.constexpr, ROWS: tl.constexpr,
):
    tl.static_assert(BLOCK >= COLUMNS, "a row must fit into one block")
    column = tl.arange(0, BLOCK)
    keep = column < COLUMNS
    scale = tl.load(weight + column, mask=keep, other=0.0).to(tl.float32)
    for i in tl.static_range(ROWS):
        row = tl.program_id(0) * ROWS + i
        if row < rows:
            value = tl.load(x + row * COLUMNS + column, mask=keep, other=0.0).to(tl.float32)
            value += tl.load(residual + row * COLUMNS + column, mask=keep, other=0.0).to(tl.float32)
            tl.store(residual + row * COLUMNS + column, value, mask=keep)
            tl.store(out + row * COLUMNS + column, value * tl.rsqrt(mean_square(value, COLUMNS) + eps) * scale, mask=keep)


@triton.jit
def quantise_kernel(x, codes, scales, COLUMNS: tl.constexpr, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK >= COLUMNS, "a row must fit into one block")
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    keep = column < COLUMNS
    value = tl.load(x + row * COLUMNS + column, mask=keep, other=0.0).to(tl.float32)
    scale = tl.max(tl.abs(value), axis=0) / 127.0 + 1e-8
    tl.store(scales + row, scale)
    tl.store(codes + row * COLUMNS + column, (value / scale).to(tl.int8), mask=keep)


def add_rms(x, residual, weight, eps=1e-6):
    rows, columns = x.shape
    plan = PLANNER(x)
    out = torch.empty_like(x)
    rms_kernel[(triton.cdiv(rows, plan.rows_a_program),)](
        x, residual, weight, out, rows, eps,
        COLUMNS=columns, BLOCK=plan.block, ROWS=plan.rows_a_program, num_warps=plan.warps,
    )
    return out


def quantise(x):
    rows, columns = x.shape
    codes = torch.empty(rows, columns, dtype=torch.int8, device=x.device)
    scales = torch.empty(rows, device=x.device)
    plan = PLANNER(x)
    quantise_kernel[(rows,)](x, codes, scales, COLUMNS=columns, BLOCK=plan.block, num_warps=plan.warps)
    return codes, scales


class Block(torch.nn.Module):
    def __init__(self, hidden, inner):
        super().__init__()
        self.first = torch.nn.Parameter(torch.ones(hidden))
        self.up = torch.nn.Linear(hidden, inner, bias=False)
        self.second = torch.nn.Parameter(torch.ones(inner))
        self.down = torch.nn.Linear(inner, hidden, bias=False)

    def forward(self, x, residual):
        wide = torch.nn.functional.gelu(self.up(add_rms(x, residual, self.first)))
        codes, scales = quantise(add_rms(wide, torch.zeros_like(wide), self.second))
        return self.down(codes.to(x.dtype) * scales[:, None].to(x.dtype))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hidden", type=int, default=96)
    parser.add_argument("--expand", type=float, default=2.5)
    parser.add_argument("--tokens", type=int, nargs="*", default=[8, 20])
    args = parser.parse_args()
    block = Block(args.hidden, int(args.hidden * args.expand)).to("cuda", torch.float16)
    with torch.no_grad():
        for tokens in args.tokens:
            x = torch.randn(tokens, args.hidden, device="cuda", dtype=torch.float16)
            y = block(x, torch.zeros_like(x))
            print(tokens, tuple(y.shape), PLANNER.made)


if __name__ == "__main__":
    main()

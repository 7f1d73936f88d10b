"""Two views of the same pictures by one head with dropout: a fused kernel forward, its mask made again backward."""

import os

os.environ["TRITON_INTERPRET"] = "1"

import argparse

import torch
import triton
import triton.language as tl


@triton.jit
def kept(draws, at, rate):
    """Whether places are kept: numbers of the draw that a counter on the device says."""
    return tl.rand(tl.load(draws), at) >= rate


@triton.jit
def forward_kernel(x, bias, residual, out, draws, amount, columns, rate, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < amount
    value = tl.load(x + at, mask=inside, other=0.0) + tl.load(bias + at % columns, mask=inside, other=0.0)
    value = tl.where(kept(draws, at, rate), value / (1.0 - rate), 0.0)
    tl.store(out + at, value + tl.load(residual + at, mask=inside, other=0.0), mask=inside)


@triton.jit
def backward_kernel(grad, grad_x, draws, amount, rate, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < amount
    value = tl.load(grad + at, mask=inside, other=0.0)
    value = tl.where(kept(draws, at, rate), value / (1.0 - rate), 0.0)
    tl.store(grad_x + at, value, mask=inside)


@triton.jit
def columns_kernel(grad_x, grad_bias, rows, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros([COLUMNS], tl.float32)
    for start in range(0, rows, ROWS):
        row = start + tl.arange(0, ROWS)
        keep = (row[:, None] < rows) & (column[None, :] < columns)
        total += tl.sum(tl.load(grad_x + row[:, None] * columns + column[None, :], mask=keep, other=0.0), axis=0)
    tl.store(grad_bias + column, total, mask=column < columns)


class DroppedAdd(torch.autograd.Function):
    """(x + bias), dropped out, on a residual; nothing but the counter is kept of the mask."""

    @staticmethod
    def forward(ctx, x, bias, residual, draws, rate, block):
        out = torch.empty_like(x)
        sizes = out.numel(), out.shape[-1]
        forward_kernel[(triton.cdiv(out.numel(), block),)](x, bias, residual, out, draws, *sizes, rate, BLOCK=block)
        ctx.draws, ctx.rate, ctx.block = draws, rate, block
        return out

    @staticmethod
    def backward(ctx, grad):
        grad = grad.contiguous()
        rows, columns = grad.shape
        grad_x, grad_bias = torch.empty_like(grad), grad.new_empty(columns)
        grid = (triton.cdiv(grad.numel(), ctx.block),)
        backward_kernel[grid](grad, grad_x, ctx.draws, grad.numel(), ctx.rate, BLOCK=ctx.block)
        columns_kernel[(triton.cdiv(columns, 16),)](grad_x, grad_bias, rows, columns, ROWS=16, COLUMNS=16)
        return grad_x, grad_bias, grad, None, None, None


class Head(torch.nn.Module):
    def __init__(self, width, rate=0.4, seed=7, block=64):
        super().__init__()
        self.linear = torch.nn.Linear(width, width, bias=False)
        self.bias = torch.nn.Parameter(torch.randn(width))
        self.rate, self.block = rate, block
        self.register_buffer("draws", torch.tensor([seed], dtype=torch.int32))

    def forward(self, x):
        if not self.training:
            return self.linear(x) + self.bias + x
        self.draws += 1  # on the device, so that a graph that is replayed draws anew
        return DroppedAdd.apply(self.linear(x), self.bias, x, self.draws, self.rate, self.block)


def wrong_places(head, views):
    """Places where a bias has a gradient that differs from what forward kept of its column."""
    outs = [head(view) for view in views]
    sum(out.sum() for out in outs).backward()
    with torch.no_grad():
        kept = sum(((out - view).abs() > 1e-6).sum(0) for out, view in zip(outs, views))
        expected = kept / (1.0 - head.rate)
        return ((head.bias.grad - expected).abs() > 1e-3).sum().item()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", type=int, default=12)
    parser.add_argument("--width", type=int, default=24)
    parser.add_argument("--views", type=int, nargs="+", default=[1, 2])
    args = parser.parse_args()
    torch.manual_seed(0)
    pictures = torch.randn(args.pictures, args.width)
    for amount in args.views:
        head = Head(args.width)
        views = [pictures + 0.1 * torch.randn_like(pictures) for _ in range(amount)]
        wrong = wrong_places(head, views)
        if wrong:
            raise SystemExit(f"{amount} views: gradients of {wrong} columns do not fit the mask")
        print(f"{amount} views: gradients fit the mask")


if __name__ == "__main__":
    main()

"""Standardisation of rows as an autograd function, with dropout behind it; compares with plain torch."""

import argparse
import collections

import torch
import triton
import triton.language as tl


@triton.jit
def moments(x, keep, columns):
    mean = tl.sum(tl.where(keep, x, 0.0), axis=0) / columns
    centred = x - mean
    variance = tl.sum(centred * centred, axis=0) / columns
    return centred, variance


@triton.jit
def forward_kernel(x, y, rstd, columns, stride, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    keep = column < columns
    value = tl.load(x + row * stride + column, mask=keep, other=0.0).to(tl.float32)
    centred, variance = moments(value, keep, columns)
    inverse = 1.0 / tl.sqrt(variance + eps)
    tl.store(rstd + row, inverse)
    tl.store(y + row * stride + column, centred * inverse, mask=keep)


@triton.jit
def backward_kernel(dy, y, rstd, dx, columns, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    keep = column < columns
    grad = tl.load(dy + row * stride + column, mask=keep, other=0.0)
    out = tl.load(y + row * stride + column, mask=keep, other=0.0)
    along = tl.sum(grad * out, axis=0) / columns
    level = tl.sum(grad, axis=0) / columns
    tl.store(dx + row * stride + column, (grad - level - out * along) * tl.load(rstd + row), mask=keep)


@triton.jit
def dropout_kernel(x, out, amount, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = tl.rand(seed, at) > p
    value = tl.load(x + at, mask=at < amount, other=0.0)
    tl.store(out + at, tl.where(keep, value / (1 - p), 0.0), mask=at < amount)


class Standardise(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, eps):
        rows, columns = x.shape
        y, rstd = torch.empty_like(x), torch.empty(rows, device=x.device)
        block = triton.next_power_of_2(columns)
        forward_kernel[(rows,)](x, y, rstd, columns, x.stride(0), eps, BLOCK=block)
        ctx.save_for_backward(y, rstd)
        ctx.block = block
        return y

    @staticmethod
    def backward(ctx, dy):
        y, rstd = ctx.saved_tensors
        dx = torch.empty_like(y)
        dy = dy.contiguous()
        backward_kernel[(y.shape[0],)](dy, y, rstd, dx, y.shape[1], y.stride(0), BLOCK=ctx.block)
        return dx, None


def dropout(x, p=0.1, seed=5):
    out = torch.empty_like(x)
    dropout_kernel[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), p, seed, BLOCK=256)
    return out


def expected(x, eps):
    return (x - x.mean(1, keepdim=True)) * torch.rsqrt(x.var(1, unbiased=False, keepdim=True) + eps)


def check(rows, columns, eps, tally):
    torch.manual_seed(rows)
    x = (torch.randn(rows, columns) + 0.5).cuda().requires_grad_()
    y = Standardise.apply(x, eps)
    torch.testing.assert_close(y, expected(x, eps), rtol=1e-3, atol=1e-3)
    tally["forward"] += 1
    y.sum().backward()
    dropout(y.detach())
    tally["backward"] += 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--eps", type=float, default=1e-5)
    parser.add_argument("--columns", type=int, nargs="*", default=[32, 64, 40])
    args = parser.parse_args()
    tally = collections.Counter()
    for columns in args.columns:
        check(4, columns, args.eps, tally)
    print(dict(tally))


if __name__ == "__main__":
    main()

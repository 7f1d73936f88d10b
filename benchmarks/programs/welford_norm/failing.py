"""Layer and RMS norm as autograd functions, with the running mean of Welford for wide rows; forward and backward."""

import argparse
import contextlib
import time
from typing import NamedTuple

import torch
import triton
import triton.language as tl


class Row(NamedTuple):
    mean: torch.Tensor
    inverse: torch.Tensor


@contextlib.contextmanager
def timed(what: str, into: dict):
    begin = time.perf_counter()
    try:
        yield
    finally:
        into[what] = time.perf_counter() - begin


@triton.jit
def rms_kernel(x_ptr, w_ptr, y_ptr, width, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    inside = cols < width
    x = tl.load(x_ptr + row * width + cols, mask=inside, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + cols, mask=inside, other=0.0)
    inverse = 1.0 / tl.sqrt(tl.sum(x * x, axis=0) / width + eps)
    tl.store(y_ptr + row * width + cols, x * inverse * w, mask=inside)


@triton.jit
def merge(mean, square, count, x, inside):
    """Welford's update of mean and squared distance by a block of values."""
    more = tl.sum(inside.to(tl.float32), axis=0)
    block_mean = tl.sum(x, axis=0) / tl.maximum(more, 1.0)
    away = tl.where(inside, x - block_mean, 0.0)
    delta = block_mean - mean
    total = count + more
    mean += delta * more / total
    square += tl.sum(away * away, axis=0) + delta * delta * count * more / total
    return mean, square, total


@triton.jit
def layer_kernel(
    x_ptr, w_ptr, b_ptr, y_ptr, mean_ptr, inverse_ptr, width, eps, BLOCK: tl.constexpr, WELFORD: tl.constexpr
):
    row = tl.program_id(0)
    base = x_ptr + row * width
    if WELFORD:
        mean = 0.0
        square = 0.0
        count = 0
        for start in range(0, width, BLOCK):
            cols = start + tl.arange(0, BLOCK)
            x = tl.load(base + cols, mask=cols < width, other=0.0).to(tl.float32)
            mean, square, count = merge(mean, square, count, x, cols < width)
        variance = square / width
    else:
        cols = tl.arange(0, BLOCK)
        x = tl.load(base + cols, mask=cols < width, other=0.0).to(tl.float32)
        mean = tl.sum(x, axis=0) / width
        away = tl.where(cols < width, x - mean, 0.0)
        variance = tl.sum(away * away, axis=0) / width
    inverse = 1.0 / tl.sqrt(variance + eps)
    tl.store(mean_ptr + row, mean)
    tl.store(inverse_ptr + row, inverse)
    for start in range(0, width, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        inside = cols < width
        x = tl.load(base + cols, mask=inside, other=0.0).to(tl.float32)
        w = tl.load(w_ptr + cols, mask=inside, other=0.0)
        b = tl.load(b_ptr + cols, mask=inside, other=0.0)
        tl.store(y_ptr + row * width + cols, (x - mean) * inverse * w + b, mask=inside)


@triton.jit
def layer_backward_kernel(dy_ptr, x_ptr, w_ptr, mean_ptr, inverse_ptr, dx_ptr, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    inside = cols < width
    dy = tl.load(dy_ptr + row * width + cols, mask=inside, other=0.0)
    x = tl.load(x_ptr + row * width + cols, mask=inside, other=0.0)
    w = tl.load(w_ptr + cols, mask=inside, other=0.0)
    mean = tl.load(mean_ptr + row)
    inverse = tl.load(inverse_ptr + row)
    normal = tl.where(inside, (x - mean) * inverse, 0.0)
    weighted = dy * w
    c1 = tl.sum(normal * weighted, axis=0) / width
    c2 = tl.sum(weighted, axis=0) / width
    tl.store(dx_ptr + row * width + cols, (weighted - normal * c1 - c2) * inverse, mask=inside)


class LayerNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps, block):
        rows, width = x.shape
        y = torch.zeros_like(x)
        row = Row(torch.zeros(rows, device=x.device), torch.zeros(rows, device=x.device))
        layer_kernel[(rows,)](
            x, weight, bias, y, row.mean, row.inverse, width, eps, BLOCK=block, WELFORD=block < width
        )
        ctx.save_for_backward(x, weight, *row)
        return y

    @staticmethod
    def backward(ctx, dy):
        x, weight, mean, inverse = ctx.saved_tensors
        dx = torch.zeros_like(x)
        rows, width = x.shape
        layer_backward_kernel[(rows,)](
            dy.contiguous(), x, weight, mean, inverse, dx, width, BLOCK=triton.next_power_of_2(width)
        )
        return dx, None, None, None, None


def rms_norm(x, weight, eps=1e-6):
    y = torch.zeros_like(x)
    rms_kernel[(x.shape[0],)](x, weight, y, x.shape[1], eps, BLOCK=triton.next_power_of_2(x.shape[1]))
    return y


def norm(x, weight, bias, eps=1e-5, limit=512):
    block = min(triton.next_power_of_2(x.shape[1]), limit)
    return LayerNorm.apply(x, weight, bias, eps, block)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=8)
    parser.add_argument("--widths", type=int, nargs="*", default=[96, 512, 1280])
    args = parser.parse_args()
    seconds = {}
    for width in args.widths:
        torch.manual_seed(width)
        x = torch.randn(args.rows, width, device="cuda", requires_grad=True)
        weight, bias = torch.ones(width, device="cuda"), torch.zeros(width, device="cuda")
        with timed(f"rms {width}", seconds):
            rms_norm(x.detach(), weight)
        with timed(f"layer {width}", seconds):
            y = norm(x, weight, bias)
            y.square().mean().backward()
        torch.cuda.synchronize()
        print(width, tuple(x.grad.shape))
    print({name: round(value, 3) for name, value in seconds.items()})


if __name__ == "__main__":
    main()

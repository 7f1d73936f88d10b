"""Rows are centred, then scaled by weights: the load of the weights has no mask, and there are fewer than BLOCK."""

import argparse

import torch
import triton
import triton.language as tl


@triton.jit
def centre(x_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=0.0)
    mean = tl.sum(x) / n_cols
    tl.store(out_ptr + row * n_cols + cols, x - mean, mask=cols < n_cols)


@triton.jit
def scale(x_ptr, weight_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=0.0)
    weight = tl.load(weight_ptr + cols)
    tl.store(out_ptr + row * n_cols + cols, x * weight, mask=cols < n_cols)


class Layer:
    def __init__(self, n_cols):
        self.weight = torch.ones(n_cols, device="cuda")

    def __call__(self, x):
        n_rows, n_cols = x.shape
        block = triton.next_power_of_2(n_cols)
        centred, out = torch.empty_like(x), torch.empty_like(x)
        centre[(n_rows,)](x, centred, n_cols, BLOCK=block)
        scale[(n_rows,)](centred, self.weight, out, n_cols, BLOCK=block)
        return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=256)
    parser.add_argument("--cols", type=int, default=200)
    given = parser.parse_args()
    torch.manual_seed(0)
    layers = [Layer(given.cols) for _ in range(3)]
    x = torch.randn(given.rows, given.cols, device="cuda")
    for layer in layers:
        x = layer(x)
    print("norm", x.norm().item())


main()

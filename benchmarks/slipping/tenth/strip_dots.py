"""Dot products of the rows of a strip with one vector: a program walks its rows with one pointer that it carries."""

import torch
import triton
import triton.language as tl


def ceil_to(value: int, step: int) -> int:
    return (value + step - 1) // step * step


@triton.jit
def fill_kernel(x, total, scale, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, (at % 13).to(tl.float32) * scale, mask=at < total)


@triton.jit
def strip_kernel(a, v, out, depth, stride_row, stride_depth, ROWS: tl.constexpr, BK: tl.constexpr):
    first = tl.program_id(0) * ROWS
    k = tl.arange(0, BK)
    a_at = a + first * stride_row + k * stride_depth
    for row in range(ROWS):
        total = tl.zeros([BK], tl.float32)
        for start in range(0, depth, BK):
            live = k < depth - start
            left = tl.load(a_at, mask=live, other=0.0)
            right = tl.load(v + start + k, mask=live, other=0.0)
            total += left * right
            a_at += BK * stride_depth
        tl.store(out + first + row, tl.sum(total, axis=0))
        a_at += stride_row - depth * stride_depth


@triton.jit
def relu_kernel(x, total, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < total, other=0.0)
    tl.store(x + at, tl.maximum(value, 0.0), mask=at < total)


class Layer:
    ROWS = 8

    def __init__(self, rows: int, depth: int, block: int):
        self.rows, self.depth, self.block = ceil_to(rows, self.ROWS), depth, block
        self.weight = torch.empty(self.rows, depth, device="cuda")
        total = self.weight.numel()
        fill_kernel[(triton.cdiv(total, 256),)](self.weight, total, 0.01, BLOCK=256)

    def __call__(self, v: torch.Tensor) -> torch.Tensor:
        out = torch.empty(self.rows, device="cuda")
        strip_kernel[(self.rows // self.ROWS,)](
            self.weight, v, out, self.depth, self.weight.stride(0), self.weight.stride(1), ROWS=self.ROWS, BK=self.block
        )
        relu_kernel[(triton.cdiv(self.rows, 64),)](out, self.rows, BLOCK=64)
        return out


def main() -> None:
    v = torch.linspace(0, 1, 256, device="cuda")
    layers = [Layer(30, 256, 64), Layer(16, 256, 32), Layer(40, 200, 64)]
    for layer in layers:
        out = layer(v[: layer.depth])
        torch.cuda.synchronize()
        print(layer.rows, layer.depth, out.shape)


if __name__ == "__main__":
    main()

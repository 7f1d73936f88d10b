"""Two layers of a perceptron: a product of tiles with a bias, a gate between them, and the norm of each row."""

import torch
import triton
import triton.language as tl


@triton.jit
def product_kernel(x, weight, out, inner, x_stride, w_stride, o_stride, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    depth = tl.arange(0, DEPTH)
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for first in range(0, inner, DEPTH):
        left = tl.load(x + row[:, None] * x_stride + (first + depth)[None, :])
        right = tl.load(weight + (first + depth)[:, None] * w_stride + column[None, :])
        total += tl.dot(left, right)
    tl.store(out + row[:, None] * o_stride + column[None, :], total.to(tl.float16))


@triton.jit
def gate_kernel(x, bias, out, width, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    value = tl.load(x + at, mask=mask, other=0.0).to(tl.float32) + tl.load(bias + at % width, mask=mask, other=0.0)
    tl.store(out + at, (value * tl.sigmoid(1.702 * value)).to(tl.float16), mask=mask)


@triton.jit
def norm_kernel(x, out, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lane = tl.arange(0, BLOCK)
    value = tl.load(x + row * width + lane, mask=lane < width, other=0.0).to(tl.float32)
    tl.store(out + row, tl.sqrt(tl.sum(value * value, 0)))


class Perceptron(torch.nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.up = torch.nn.Parameter(torch.randn(width, hidden, device="cuda", dtype=torch.float16))
        self.down = torch.nn.Parameter(torch.randn(hidden, width, device="cuda", dtype=torch.float16))
        self.bias = torch.nn.Parameter(torch.zeros(hidden, device="cuda"))

    def product(self, x, weight):
        rows, inner, columns = x.shape[0], x.shape[1], weight.shape[1]
        out = torch.empty(rows, columns, device=x.device, dtype=torch.float16)
        grid = (triton.cdiv(rows, 256), triton.cdiv(columns, 128))
        product_kernel[grid](
            x, weight, out, inner, x.stride(0), weight.stride(0), out.stride(0), 256, 128, 32, num_warps=8, num_stages=1
        )
        return out

    def forward(self, x):
        hidden = self.product(x, self.up)
        gated = torch.empty_like(hidden)
        n = hidden.numel()
        gate_kernel[(triton.cdiv(n, 1024),)](hidden, self.bias, gated, hidden.shape[1], n, BLOCK=1024)
        out = self.product(gated, self.down)
        norms = torch.empty(out.shape[0], device=out.device)
        norm_kernel[(out.shape[0],)](out, norms, out.shape[1], BLOCK=triton.next_power_of_2(out.shape[1]))
        return norms


def main():
    torch.manual_seed(0)
    layer = Perceptron(256, 512)
    norms = layer(torch.randn(512, 256, device="cuda", dtype=torch.float16))
    torch.cuda.synchronize()
    print("norms", norms.mean().item())


if __name__ == "__main__":
    main()

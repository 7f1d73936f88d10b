"""Two layers of a perceptron, whose weights are packed with their biases: the first column of each is the bias."""

import torch
import triton
import triton.language as tl


@triton.jit
def product_kernel(
    x, weight, out, inner, x_stride, w_stride, o_stride, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr
):
    row = tl.program_id(0) * M + tl.arange(0, M)
    column = tl.program_id(1) * N + tl.arange(0, N)
    depth = tl.arange(0, K)
    total = tl.zeros((M, N), tl.float32)
    for first in range(0, inner, K):
        left = tl.load(x + row[:, None] * x_stride + (first + depth)[None, :])
        right = tl.load(weight + (first + depth)[:, None] * w_stride + column[None, :])
        total += tl.dot(left, right)
    tl.store(out + row[:, None] * o_stride + column[None, :], total.to(tl.float16))


@triton.jit
def gate_kernel(x, bias, out, width, x_stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lane = tl.arange(0, BLOCK)
    mask = lane < width
    value = tl.load(x + row * x_stride + lane, mask=mask, other=0.0).to(tl.float32)
    value += tl.load(bias + lane, mask=mask, other=0.0).to(tl.float32)
    tl.store(out + row * x_stride + lane, (value * tl.sigmoid(1.702 * value)).to(tl.float16), mask=mask)


@triton.jit
def norm_kernel(x, out, width, x_stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lane = tl.arange(0, BLOCK)
    value = tl.load(x + row * x_stride + lane, mask=lane < width, other=0.0).to(tl.float32)
    tl.store(out + row, tl.sqrt(tl.sum(value * value, 0)))


def packed(rows, columns):
    return torch.randn(rows, columns + 1, device="cuda", dtype=torch.float16)[:, 1:]


class Perceptron(torch.nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.up, self.down = packed(width, hidden), packed(hidden, width)
        self.bias = torch.zeros(hidden, device="cuda", dtype=torch.float16)

    def product(self, x, weight):
        rows, inner, columns = x.shape[0], x.shape[1], weight.shape[1]
        out = packed(rows, columns)
        grid = (triton.cdiv(rows, 256), triton.cdiv(columns, 128))
        product_kernel[grid](
            x, weight, out, inner, x.stride(0), weight.stride(0), out.stride(0), 256, 128, 32, num_warps=8, num_stages=1
        )
        return out

    def forward(self, x):
        hidden = self.product(x, self.up)
        gated = packed(*hidden.shape)
        rows, width = hidden.shape
        gate_kernel[(rows,)](hidden, self.bias, gated, width, hidden.stride(0), BLOCK=triton.next_power_of_2(width))
        out = self.product(gated, self.down)
        norms = torch.empty(rows, device=out.device)
        norm_kernel[(rows,)](out, norms, out.shape[1], out.stride(0), BLOCK=triton.next_power_of_2(out.shape[1]))
        return norms


def main():
    torch.manual_seed(0)
    layer = Perceptron(256, 512)
    norms = layer(packed(512, 256))
    torch.cuda.synchronize()
    print("norms", norms.mean().item())


if __name__ == "__main__":
    main()

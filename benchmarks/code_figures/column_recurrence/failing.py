"""A gated linear recurrence down the columns of a batch, as state-space layers have it, in chunks."""

import argparse

import torch
import triton
import triton.language as tl


@triton.jit
def gate_kernel(x, gate, bias, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    value = tl.load(x + at, mask=mask, other=0.0)
    tl.store(gate + at, tl.sigmoid(value + bias), mask=mask)


@triton.jit
def combine(gate, state, next_gate, next_state):
    return gate * next_gate, state * next_gate + next_state


@triton.jit
def recurrence_kernel(gate, x, out, stride, STEPS: tl.constexpr, WIDTH: tl.constexpr):
    step = tl.arange(0, STEPS)
    lane = tl.arange(0, WIDTH)
    at = tl.program_id(0) * STEPS * stride + step[:, None] * stride + lane[None, :]
    a = tl.load(gate + at)
    b = tl.load(x + at)
    a, b = tl.associative_scan((a, b), 0, combine)
    tl.store(out + at, a + b)


@triton.jit
def carry_kernel(out, carry, chunks, stride, STEPS: tl.constexpr, WIDTH: tl.constexpr):
    lane = tl.arange(0, WIDTH)
    state = tl.zeros([WIDTH], tl.float32)
    for chunk in range(chunks):
        state += tl.load(out + (chunk * STEPS + STEPS - 1) * stride + lane)
        tl.store(carry + chunk * WIDTH + lane, state)


@triton.jit
def project_kernel(x, weight, out, width, WIDTH: tl.constexpr):
    row = tl.program_id(0)
    lane = tl.arange(0, WIDTH)
    mask = lane < width
    value = tl.load(x + row * width + lane, mask=mask, other=0.0) * tl.load(weight + lane, mask=mask, other=0.0)
    tl.store(out + row, tl.sum(value, 0))


class Recurrence(torch.nn.Module):
    def __init__(self, width, bias=0.5):
        super().__init__()
        self.width, self.bias = width, bias
        self.weight = torch.nn.Parameter(torch.randn(width, device="cuda"))

    def forward(self, x):
        steps = x.shape[0]
        chunks = steps // 64
        gate, out = torch.empty_like(x), torch.empty_like(x)
        carry = torch.empty(chunks, self.width, device=x.device)
        gate_kernel[(triton.cdiv(x.numel(), 1024),)](x, gate, self.bias, x.numel(), BLOCK=1024)
        recurrence_kernel[(chunks,)](gate, x, out, x.stride(0), STEPS=64, WIDTH=64, num_warps=1, num_stages=2)
        carry_kernel[(1,)](out, carry, chunks, out.stride(0), STEPS=64, WIDTH=64)
        total = torch.empty(steps, device=x.device)
        project_kernel[(steps,)](out, self.weight, total, self.width, WIDTH=triton.next_power_of_2(self.width))
        return total, carry


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=512)
    parser.add_argument("--width", type=int, default=64)
    args = parser.parse_args()
    torch.manual_seed(0)
    layer = Recurrence(args.width)
    total, carry = layer(torch.randn(args.steps, args.width, device="cuda"))
    torch.cuda.synchronize()
    print("total", total.sum().item(), "carry", carry.norm().item())


if __name__ == "__main__":
    main()

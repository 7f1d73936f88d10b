"""Column sums of a gradient (the gradient of a bias), split over the rows."""
import argparse

import numpy as np
import torch
import triton
import triton.language as tl

BLOCK_M = 32
BLOCK_N = 64


@triton.jit
def column_sum_kernel(g_ptr, out_ptr, M, N, stride_m, scale,
                      ROWS_PER_PROGRAM: tl.constexpr,
                      BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    cols = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    first = tl.program_id(1) * ROWS_PER_PROGRAM
    part = tl.zeros((BLOCK_N,), dtype=tl.float32)
    for start in range(0, ROWS_PER_PROGRAM, BLOCK_M):
        rows = first + start + tl.arange(0, BLOCK_M)
        mask = (rows < M)[:, None] & (cols < N)[None, :]
        g = tl.load(g_ptr + rows[:, None] * stride_m + cols[None, :], mask=mask, other=0.0)
        part += tl.sum(g.to(tl.float32), axis=0)
    tl.atomic_add(out_ptr + cols, part * scale, mask=cols < N)


@triton.jit
def clip_kernel(x_ptr, limit, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    x = tl.minimum(tl.maximum(x, -limit), limit)
    tl.store(x_ptr + offs, x, mask=offs < n)


class BiasGrad:
    """Owns one float32 buffer so that a training step allocates nothing."""

    def __init__(self, max_features, rows_per_program=64, device="cuda", clip=None):
        self.buffer = torch.zeros(max_features, device=device, dtype=torch.float32)
        self.rows_per_program = rows_per_program
        self.clip = clip

    def __call__(self, grad, scale=1.0):
        m, n = grad.shape
        assert grad.stride(1) == 1, "rows must be dense"
        assert n <= self.buffer.numel(), "more features than planned for"
        out = self.buffer[:n]
        grid = (triton.cdiv(n, BLOCK_N), triton.cdiv(m, self.rows_per_program))
        column_sum_kernel[grid](grad, out, m, n, grad.stride(0), scale,
                                ROWS_PER_PROGRAM=self.rows_per_program,
                                BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, num_warps=4)
        if self.clip is not None:
            clip_kernel[(triton.cdiv(n, 256),)](out, self.clip, n, BLOCK=256)
        return out.to(grad.dtype, copy=True)


def reference(grad, scale):
    return grad.double().sum(0).mul(scale).to(grad.dtype)


class Timer:
    def __init__(self):
        self.laps = {}

    def add(self, name, seconds):
        self.laps.setdefault(name, []).append(seconds)

    def report(self):
        for name, laps in self.laps.items():
            print(f"{name}: {sum(laps) / len(laps):.6f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--batch", type=int, default=200)
    parser.add_argument("--features", type=int, default=150)
    args = parser.parse_args()

    torch.manual_seed(11)
    bias_grad = BiasGrad(max_features=512)
    for step in range(args.steps):
        grad = torch.randn(args.batch, args.features, device="cuda")
        scale = 1.0 / args.batch
        got = bias_grad(grad, scale)
        want = reference(grad, scale)
        np.testing.assert_allclose(got.cpu().numpy(), want.cpu().numpy(), rtol=1e-4, atol=1e-5,
                                   err_msg=f"step {step}")
        print("step", step, "norm", float(got.norm()))


if __name__ == "__main__":
    main()

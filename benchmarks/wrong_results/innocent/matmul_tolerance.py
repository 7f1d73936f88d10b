"""A small float16 matrix product that accumulates in float32, checked for a few shapes."""
import argparse

import torch
import triton
import triton.language as tl


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_bk, stride_cm,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        inner = start + tl.arange(0, BLOCK_K)
        a = tl.load(
            a_ptr + rows[:, None] * stride_am + inner[None, :],
            mask=(rows[:, None] < M) & (inner[None, :] < K), other=0.0,
        )
        b = tl.load(
            b_ptr + inner[:, None] * stride_bk + cols[None, :],
            mask=(inner[:, None] < K) & (cols[None, :] < N), other=0.0,
        )
        acc = tl.dot(a, b, acc)
    tl.store(
        c_ptr + rows[:, None] * stride_cm + cols[None, :], acc.to(tl.float16),
        mask=(rows[:, None] < M) & (cols[None, :] < N),
    )


def matmul(a, b):
    (M, K), (_, N) = a.shape, b.shape
    c = torch.empty(M, N, device=a.device, dtype=a.dtype)
    grid = (triton.cdiv(M, 16), triton.cdiv(N, 16))
    matmul_kernel[grid](
        a, b, c, M, N, K, a.stride(0), b.stride(0), c.stride(0), BLOCK_M=16, BLOCK_N=16, BLOCK_K=32
    )
    return c


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rtol", type=float, default=1e-6)
    given = parser.parse_args()
    torch.manual_seed(1)
    for M, N, K in [(16, 16, 32), (48, 40, 200)]:
        a = torch.randn(M, K, device="cuda", dtype=torch.float16)
        b = torch.randn(K, N, device="cuda", dtype=torch.float16)
        expected = (a.float() @ b.float())
        torch.testing.assert_close(matmul(a, b).float(), expected, rtol=given.rtol, atol=1e-6)


if __name__ == "__main__":
    main()

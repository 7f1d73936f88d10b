"""A matmul with autotuning, a correctness check and a benchmark, the way such scripts look in repositories."""
from __future__ import annotations

import argparse
import os, sys
import time
from functools import partial

os.environ.setdefault("TRITON_CACHE_DIR", "/tmp/matmul-cache")

import torch
import triton
import triton.language as tl

DTYPES = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32}


def configs():
    return [
        triton.Config({"BLOCK_M": bm, "BLOCK_N": bn, "BLOCK_K": 32, "GROUP": 8}, num_stages=s, num_warps=w)
        for bm in (64, 128)
        for bn in (64, 128)
        for s, w in [(3, 8), (4, 4)]
        if bm * bn < 128 * 128 or w > 4
    ]


@triton.autotune(configs=configs(), key=["M", "N", "K"])
@triton.heuristics({"EVEN_K": lambda args: args["K"] % args["BLOCK_K"] == 0})
@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr,  # pointers
    M, N, K,
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
    GROUP: tl.constexpr, EVEN_K: tl.constexpr, ACTIVATION: tl.constexpr = "",
):
    """C = act(A @ B)"""
    pid = tl.program_id(axis=0)
    num_m, num_n = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    group = pid // (GROUP * num_n)
    first = group * GROUP
    size = min(num_m - first, GROUP)
    pid_m = first + (pid % (GROUP * num_n)) % size; pid_n = (pid % (GROUP * num_n)) // size
    offs_m = (pid_m * BLOCK_M + tl.arange(0, BLOCK_M)) % M
    offs_n = (pid_n * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak
    b_ptrs = b_ptr + offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in tl.range(0, tl.cdiv(K, BLOCK_K), num_stages=3):
        if EVEN_K:
            a = tl.load(a_ptrs)
            b = tl.load(b_ptrs)
        else:
            a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BLOCK_K, other=0.0)
            b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BLOCK_K, other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    if ACTIVATION == "relu":
        acc = relu(acc)
    elif ACTIVATION == "square":
        acc *= acc
    rows = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    c_ptrs = c_ptr + stride_cm * rows[:, None] + stride_cn * cols[None, :]
    tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=(rows[:, None] < M) & (cols[None, :] < N))


@triton.jit
def relu(x):
    return tl.where(x > 0, x, 0.0)


def matmul(a: torch.Tensor, b: torch.Tensor, *, activation: str = "") -> torch.Tensor:
    assert a.shape[1] == b.shape[0], f"inner dimensions differ: {a.shape} and {b.shape}"
    (m, k), n = a.shape, b.shape[1]
    c = torch.empty((m, n), device=a.device, dtype=a.dtype)
    grid = lambda meta: (triton.cdiv(m, meta["BLOCK_M"]) * triton.cdiv(n, meta["BLOCK_N"]),)
    matmul_kernel[grid](
        a, b, c, m, n, k,
        a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), c.stride(1),
        ACTIVATION=activation,
    )
    return c


def bench(fn, *, reps=100, quiet=False):
    for _ in range(3): fn()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for rep in range(reps):
        fn()
        if rep > 10 and time.perf_counter() - start > 5: break
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / reps * 1e3


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--dtype", choices=list(DTYPES), default="fp16")
    args = parser.parse_args()
    torch.manual_seed(0)
    a, b = (torch.randn(args.size, args.size, device="cuda", dtype=DTYPES[args.dtype]) for _ in range(2))
    if not torch.allclose(matmul(a, b), a @ b, atol=1e-1):
        print(f"mismatch for {args.size}: {(matmul(a, b) - a @ b).abs().max().item():.3f}", file=sys.stderr)
        sys.exit(1)
    print(f"{args.dtype}: {bench(partial(matmul, a, b), reps=50):.3f} ms")

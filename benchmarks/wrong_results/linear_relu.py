"""Linear layer with a fused ReLU: kernel, wrapper and comparison with torch."""
import argparse
import dataclasses

import torch
import triton
import triton.language as tl


@dataclasses.dataclass
class TileConfig:
    block_m: int = 32
    block_n: int = 32
    block_k: int = 32
    num_warps: int = 4
    num_stages: int = 2

    def as_meta(self):
        return dict(BLOCK_M=self.block_m, BLOCK_N=self.block_n, BLOCK_K=self.block_k,
                    num_warps=self.num_warps, num_stages=self.num_stages)


@triton.jit
def activation(x, NAME: tl.constexpr):
    if NAME == "relu":
        x = tl.maximum(x, 0.0)
    elif NAME == "leaky":
        x = tl.where(x > 0, x, x * 0.01)
    return x


@triton.jit
def linear_kernel(x_ptr, w_ptr, b_ptr, y_ptr, M, N, K,
                  stride_xm, stride_xk, stride_wn, stride_wk, stride_ym, stride_yn,
                  HAS_BIAS: tl.constexpr, ACTIVATION: tl.constexpr,
                  BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    rm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    rk = tl.arange(0, BLOCK_K)
    x_ptrs = x_ptr + rm[:, None] * stride_xm + rk[None, :] * stride_xk
    w_ptrs = w_ptr + rk[:, None] * stride_wk + rn[None, :] * stride_wn
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float16)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        left = K - k * BLOCK_K
        x = tl.load(x_ptrs, mask=(rm[:, None] < M) & (rk[None, :] < left), other=0.0)
        w = tl.load(w_ptrs, mask=(rn[None, :] < N) & (rk[:, None] < left), other=0.0)
        acc = tl.dot(x, w, acc, out_dtype=tl.float16)
        x_ptrs += BLOCK_K * stride_xk
        w_ptrs += BLOCK_K * stride_wk
    if HAS_BIAS:
        acc += tl.load(b_ptr + rn, mask=rn < N, other=0.0)[None, :]
    acc = activation(acc, ACTIVATION)
    y_ptrs = y_ptr + rm[:, None] * stride_ym + rn[None, :] * stride_yn
    tl.store(y_ptrs, acc.to(y_ptr.dtype.element_ty), mask=(rm[:, None] < M) & (rn[None, :] < N))


def linear(x, weight, bias=None, act="relu", config=TileConfig()):
    assert x.shape[1] == weight.shape[1], "inner sizes differ"
    M, K = x.shape
    N = weight.shape[0]
    y = torch.empty((M, N), device=x.device, dtype=x.dtype)
    grid = (triton.cdiv(M, config.block_m), triton.cdiv(N, config.block_n))
    linear_kernel[grid](x, weight, bias, y, M, N, K,
                        x.stride(0), x.stride(1), weight.stride(0), weight.stride(1),
                        y.stride(0), y.stride(1),
                        HAS_BIAS=bias is not None, ACTIVATION=act, **config.as_meta())
    return y


def flops(m, n, k):
    return 2 * m * n * k


def reference(x, weight, bias):
    y = x.float() @ weight.float().t() + bias.float()
    return torch.relu(y).to(x.dtype)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--m", type=int, default=64)
    parser.add_argument("--n", type=int, default=96)
    parser.add_argument("--k", type=int, default=1024)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    device = "cuda"
    x = torch.rand(args.m, args.k, device=device).to(torch.float16)
    weight = torch.randn(args.n, args.k, device=device).to(torch.float16)
    bias = torch.randn(args.n, device=device).to(torch.float16)

    y = linear(x, weight, bias)
    if args.verbose:
        print("GFLOP", flops(args.m, args.n, args.k) / 1e9)
    torch.testing.assert_close(y, reference(x, weight, bias), rtol=1e-3, atol=5e-3)
    print("linear_relu ok")


if __name__ == "__main__":
    main()

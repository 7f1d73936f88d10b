"""Compare the fused two-layer MLP with the eager one.

    python mlp_module.py --batch 24 --dims 40 72 24
"""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def linear_silu_kernel(
    x_ptr, w_ptr, b_ptr, y_ptr,
    M, N, K,
    stride_xm, stride_xk,
    stride_wn, stride_wk,
    stride_ym, stride_yn,
    ACT: tl.constexpr,
    HAS_BIAS: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k0 in range(0, K, BLOCK_K):
        offs_k = k0 + tl.arange(0, BLOCK_K)
        x = tl.load(
            x_ptr + offs_m[:, None] * stride_xm + offs_k[None, :] * stride_xk,
            mask=(offs_m[:, None] < M) & (offs_k[None, :] < K), other=0.0,
        )
        w = tl.load(
            w_ptr + offs_n[None, :] * stride_wn + offs_k[:, None] * stride_wk,
            mask=(offs_n[None, :] < N) & (offs_k[:, None] < K), other=0.0,
        )
        acc += tl.dot(x, w)
    if HAS_BIAS:
        bias = tl.load(b_ptr + offs_n, mask=offs_n < N, other=0.0).to(tl.float32)
        acc += bias[None, :]
    if ACT == "silu":
        acc = acc * tl.sigmoid(1.702 * acc)
    y_ptrs = y_ptr + offs_m[:, None] * stride_ym + offs_n[None, :] * stride_yn
    tl.store(y_ptrs, acc.to(y_ptr.dtype.element_ty), mask=(offs_m[:, None] < M) & (offs_n[None, :] < N))


def linear_act(x, weight, bias=None, act=None):
    assert x.shape[-1] == weight.shape[1], "shapes do not fit"
    lead = x.shape[:-1]
    x = x.reshape(-1, x.shape[-1])
    M, K = x.shape
    N = weight.shape[0]
    y = torch.empty((M, N), device=x.device, dtype=x.dtype)

    def grid(meta):
        return triton.cdiv(M, meta["BLOCK_M"]), triton.cdiv(N, meta["BLOCK_N"])

    linear_silu_kernel[grid](
        x, weight, bias if bias is not None else x, y,
        M, N, K,
        x.stride(0), x.stride(1),
        weight.stride(0), weight.stride(1),
        y.stride(0), y.stride(1),
        ACT=act, HAS_BIAS=bias is not None,
        BLOCK_M=16, BLOCK_N=32, BLOCK_K=32, num_warps=4,
    )
    return y.reshape(*lead, N)


class FusedLinear(nn.Module):
    def __init__(self, fan_in, fan_out, act=None, bias=True):
        super().__init__()
        self.act = act
        self.weight = nn.Parameter(torch.empty(fan_out, fan_in))
        self.bias = nn.Parameter(torch.zeros(fan_out)) if bias else None
        self.reset_parameters()

    def reset_parameters(self):
        nn.init.kaiming_uniform_(self.weight, a=5 ** 0.5)
        if self.bias is not None:
            nn.init.uniform_(self.bias, -0.5, 0.5)

    def forward(self, x):
        return linear_act(x, self.weight, self.bias, self.act)

    def extra_repr(self):
        return f"{self.weight.shape[1]} -> {self.weight.shape[0]}, act={self.act}"


class FusedMLP(nn.Module):
    def __init__(self, d_in, d_hidden, d_out):
        super().__init__()
        self.fc1 = FusedLinear(d_in, d_hidden, act="silu")
        self.fc2 = FusedLinear(d_hidden, d_out)

    def forward(self, x):
        return self.fc2(self.fc1(x))


class EagerMLP(nn.Module):
    def __init__(self, d_in, d_hidden, d_out):
        super().__init__()
        self.fc1 = nn.Linear(d_in, d_hidden)
        self.fc2 = nn.Linear(d_hidden, d_out)

    def forward(self, x):
        return self.fc2(F.silu(self.fc1(x)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=24)
    parser.add_argument("--dims", type=int, nargs=3, default=[40, 72, 24])
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    torch.manual_seed(42)
    fused = FusedMLP(*args.dims).to(args.device).eval()
    eager = EagerMLP(*args.dims).to(args.device).eval()
    eager.load_state_dict(fused.state_dict())
    x = torch.randn(args.batch, args.dims[0], device=args.device)
    with torch.no_grad():
        got = fused(x)
        want = eager(x)
    print("max difference", (got - want).abs().max().item())
    torch.testing.assert_close(got, want, atol=2e-3, rtol=2e-3)
    print("fused MLP matches")


if __name__ == "__main__":
    main()

"""Dynamic int8 linear: quantise the activations row by row, then an int8 matmul."""
from dataclasses import dataclass

import torch
import triton
import triton.language as tl


@dataclass
class Int8Config:
    block_m: int = 32
    block_n: int = 32
    block_k: int = 64
    symmetric: bool = True
    limit: float = 0.02


@triton.jit
def row_quantise_kernel(x_ptr, q_ptr, scale_ptr, K, stride_x, stride_q, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < K
    x = tl.load(x_ptr + row * stride_x + cols, mask=mask, other=0.0).to(tl.float32)
    largest = tl.max(x, axis=0)
    scale = tl.maximum(largest, 1e-8) / 127.0
    q = tl.floor(x / scale + 0.5)
    q = tl.minimum(tl.maximum(q, -127.0), 127.0)
    tl.store(q_ptr + row * stride_q + cols, q.to(tl.int8), mask=mask)
    tl.store(scale_ptr + row, scale)


@triton.jit
def int8_matmul_kernel(a_ptr, b_ptr, sa_ptr, sb_ptr, c_ptr, M, N, K, stride_a, stride_b, stride_c,
                       BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    rm = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.int32)
    for k in range(0, K, BLOCK_K):
        rk = k + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + rm[:, None] * stride_a + rk[None, :],
                    mask=(rm[:, None] < M) & (rk[None, :] < K), other=0)
        b = tl.load(b_ptr + rn[None, :] * stride_b + rk[:, None],
                    mask=(rn[None, :] < N) & (rk[:, None] < K), other=0)
        acc += tl.dot(a, b)
    sa = tl.load(sa_ptr + rm, mask=rm < M, other=0.0)
    sb = tl.load(sb_ptr + rn, mask=rn < N, other=0.0)
    c = acc.to(tl.float32) * sa[:, None] * sb[None, :]
    tl.store(c_ptr + rm[:, None] * stride_c + rn[None, :], c.to(c_ptr.dtype.element_ty),
             mask=(rm[:, None] < M) & (rn[None, :] < N))


def quantise_rows(x):
    rows, cols = x.shape
    q = torch.empty((rows, cols), device=x.device, dtype=torch.int8)
    scale = torch.empty(rows, device=x.device, dtype=torch.float32)
    row_quantise_kernel[(rows,)](x, q, scale, cols, x.stride(0), q.stride(0),
                                 BLOCK=triton.next_power_of_2(cols))
    return q, scale


def quantise_weight(weight):
    scale = weight.abs().amax(dim=1).clamp_min(1e-8) / 127.0
    return torch.round(weight / scale[:, None]).to(torch.int8), scale


class Int8Linear:
    def __init__(self, weight, config=None):
        self.config = config or Int8Config()
        self.q, self.scale = quantise_weight(weight)

    def __call__(self, x):
        cfg = self.config
        a, sa = quantise_rows(x)
        m, k = x.shape
        n = self.q.shape[0]
        c = torch.empty((m, n), device=x.device, dtype=x.dtype)
        grid = (triton.cdiv(m, cfg.block_m), triton.cdiv(n, cfg.block_n))
        int8_matmul_kernel[grid](a, self.q, sa, self.scale, c, m, n, k,
                                 a.stride(0), self.q.stride(0), c.stride(0),
                                 BLOCK_M=cfg.block_m, BLOCK_N=cfg.block_n, BLOCK_K=cfg.block_k)
        return c


def throughput(m, n, k, seconds):
    return 2.0 * m * n * k / seconds / 1e12


def main():
    torch.manual_seed(6)
    config = Int8Config()
    weight = torch.randn(80, 192, device="cuda") / 192 ** 0.5
    x = torch.randn(50, 192, device="cuda") - 0.5
    y = Int8Linear(weight, config)(x)
    ref = x @ weight.t()
    error = ((y - ref).norm() / ref.norm()).item()
    if not error <= config.limit:
        raise RuntimeError(f"relative error {error:.4f} is above {config.limit}")
    print(f"int8_linear ok, relative error {error:.4f}")


if __name__ == "__main__":
    main()

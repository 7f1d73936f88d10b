"""Matmul whose tiles are walked in groups of rows, so that tiles of B stay in L2."""
import sys

import torch
import triton
import triton.language as tl


class Plan:
    """Tile sizes and launch options for one problem size."""

    def __init__(self, m, n, k, tile=32, group=2):
        self.m, self.n, self.k = m, n, k
        self.tile = tile
        self.group = group
        self.grid = (triton.cdiv(m, tile) * triton.cdiv(n, tile),)

    def meta(self):
        return {"BLOCK_M": self.tile, "BLOCK_N": self.tile, "BLOCK_K": 32, "GROUP_M": self.group,
                "num_warps": 4, "num_stages": 2}

    def __repr__(self):
        return f"{self.m}x{self.n}x{self.k} in tiles of {self.tile}"


@triton.jit
def tile_of(pid, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, GROUP_M: tl.constexpr):
    tiles_n = tl.cdiv(N, BLOCK_N)
    tiles_in_group = GROUP_M * tiles_n
    first_m = pid // tiles_in_group * GROUP_M
    rows_in_group = GROUP_M
    pid_m = first_m + pid % tiles_in_group % rows_in_group
    pid_n = pid % tiles_in_group // rows_in_group
    return pid_m, pid_n


@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, stride_a, stride_b, stride_c,
                  BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
                  GROUP_M: tl.constexpr):
    pid_m, pid_n = tile_of(tl.program_id(0), M, N, BLOCK_M, BLOCK_N, GROUP_M)
    rm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    rk = tl.arange(0, BLOCK_K)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        ka = k + rk
        a = tl.load(a_ptr + rm[:, None] * stride_a + ka[None, :],
                    mask=(rm[:, None] < M) & (ka[None, :] < K), other=0.0)
        b = tl.load(b_ptr + ka[:, None] * stride_b + rn[None, :],
                    mask=(ka[:, None] < K) & (rn[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + rm[:, None] * stride_c + rn[None, :], acc.to(c_ptr.dtype.element_ty),
             mask=(rm[:, None] < M) & (rn[None, :] < N))


@triton.jit
def transpose_kernel(x_ptr, y_ptr, M, N, BLOCK: tl.constexpr):
    r = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = (r[:, None] < M) & (c[None, :] < N)
    x = tl.load(x_ptr + r[:, None] * N + c[None, :], mask=mask)
    tl.store(y_ptr + r[:, None] + c[None, :] * M, x, mask=mask)


def matmul(a, b, plan=None):
    m, k = a.shape
    n = b.shape[1]
    plan = plan or Plan(m, n, k)
    c = a.new_zeros((m, n))
    matmul_kernel[plan.grid](a, b, c, m, n, k, a.stride(0), b.stride(0), c.stride(0), **plan.meta())
    return c


def main(argv):
    device = "cuda"
    torch.manual_seed(int(argv[1]) if len(argv) > 1 else 0)
    status = 0
    for m, n, k in [(64, 64, 64), (128, 96, 48), (96, 128, 64), (80, 100, 40)]:
        a = torch.randn(m, k, device=device, dtype=torch.float16)
        b = torch.randn(k, n, device=device, dtype=torch.float16)
        c = matmul(a, b)
        ref = (a.float() @ b.float()).half()
        if torch.allclose(c, ref, rtol=1e-2, atol=1e-2):
            print(f"{Plan(m, n, k)}: match")
        else:
            print(f"{Plan(m, n, k)}: mismatch, largest difference {(c - ref).abs().max().item():.3f}")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv))

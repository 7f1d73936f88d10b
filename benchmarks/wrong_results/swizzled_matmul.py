"""Persistent matmul: a fixed number of programs walk over the output tiles in a grouped order."""
import sys
import time

import torch
import triton
import triton.language as tl

TILES = {
    torch.float16: dict(BLOCK_M=16, BLOCK_N=32, BLOCK_K=32, num_warps=4),
    torch.float32: dict(BLOCK_M=16, BLOCK_N=16, BLOCK_K=16, num_warps=2),
}
RTOL = {torch.float16: 2e-2, torch.float32: 1e-3}


@triton.jit
def tile_coordinates(tile, m, n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, GROUP: tl.constexpr):
    tiles_m = tl.cdiv(m, BLOCK_M)
    tiles_n = tl.cdiv(n, BLOCK_N)
    width = GROUP * tiles_n
    first = (tile // width) * GROUP
    rows = tl.minimum(tiles_m - first, GROUP)
    return first + (tile % GROUP), (tile % width) // rows


@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, m, n, k,
                  stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
                  BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
                  GROUP: tl.constexpr, PROGRAMS: tl.constexpr):
    tiles = tl.cdiv(m, BLOCK_M) * tl.cdiv(n, BLOCK_N)
    for tile in range(tl.program_id(0), tiles, PROGRAMS):
        pid_m, pid_n = tile_coordinates(tile, m, n, BLOCK_M, BLOCK_N, GROUP)
        rm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
        rn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for start in range(0, k, BLOCK_K):
            rk = start + tl.arange(0, BLOCK_K)
            a = tl.load(a_ptr + rm[:, None] * stride_am + rk[None, :] * stride_ak,
                        mask=(rm[:, None] < m) & (rk[None, :] < k), other=0.0)
            b = tl.load(b_ptr + rk[:, None] * stride_bk + rn[None, :] * stride_bn,
                        mask=(rk[:, None] < k) & (rn[None, :] < n), other=0.0)
            acc = tl.dot(a, b, acc, input_precision="ieee")
        inside = (rm[:, None] < m) & (rn[None, :] < n)
        tl.store(c_ptr + rm[:, None] * stride_cm + rn[None, :] * stride_cn,
                 acc.to(c_ptr.dtype.element_ty), mask=inside)


class PersistentMatmul:
    """Callable with two matrices; counts what it did, for the report at the end."""

    def __init__(self, programs=6, group=4):
        self.programs = programs
        self.group = group
        self.calls = 0
        self.flops = 0

    def __call__(self, a, b):
        if a.shape[1] != b.shape[0]:
            raise ValueError(f"cannot multiply {tuple(a.shape)} by {tuple(b.shape)}")
        (m, k), n = a.shape, b.shape[1]
        c = torch.zeros((m, n), device=a.device, dtype=a.dtype)
        tiles = TILES[a.dtype]
        grid = lambda meta: (min(self.programs,
                                 triton.cdiv(m, meta["BLOCK_M"]) * triton.cdiv(n, meta["BLOCK_N"])),)
        matmul_kernel[grid](a, b, c, m, n, k, *a.stride(), *b.stride(), *c.stride(),
                            GROUP=self.group, PROGRAMS=self.programs, **tiles)
        self.calls += 1
        self.flops += 2 * m * n * k
        return c

    def report(self, seconds):
        return f"{self.calls} products, {self.flops / seconds / 1e6:.1f} Mflop/s"


def operands(m, n, k, dtype, transposed):
    a = torch.randn(m, k, device="cuda", dtype=dtype)
    b = torch.randn(n, k, device="cuda", dtype=dtype).t() if transposed else \
        torch.randn(k, n, device="cuda", dtype=dtype)
    return a, b


def main(argv):
    torch.manual_seed(int(argv[1]) if len(argv) > 1 else 7)
    matmul = PersistentMatmul()
    begin = time.perf_counter()
    for dtype in TILES:
        for m, n, k in ((64, 64, 64), (128, 48, 40), (100, 70, 50)):
            for transposed in (False, True):
                a, b = operands(m, n, k, dtype, transposed)
                c = matmul(a, b)
                expected = (a.float() @ b.float()).to(dtype)
                torch.testing.assert_close(c, expected, rtol=RTOL[dtype], atol=RTOL[dtype])
                print(f"{dtype} {m}x{n}x{k} transposed={transposed} ok")
    print(matmul.report(time.perf_counter() - begin))


if __name__ == "__main__":
    main(sys.argv)

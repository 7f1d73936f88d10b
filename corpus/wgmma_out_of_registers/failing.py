"""A table of tiles for a thin matmul; the widest tile needs more registers than four warps have."""

import torch
import triton
import triton.language as tl

TILES = [(64, 128, 4), (256, 512, 4)]


@triton.jit
def thin_matmul_kernel(
    a_ptr, b_ptr, c_ptr,
    COLUMNS: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    """K is so short that one step does, and the tiles are whole."""
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K)
    a = tl.load(a_ptr + rows[:, None] * BLOCK_K + inner[None, :])
    b = tl.load(b_ptr + inner[:, None] * COLUMNS + cols[None, :])
    tl.store(c_ptr + rows[:, None] * COLUMNS + cols[None, :], tl.dot(a, b))


def thin_matmul(a: torch.Tensor, b: torch.Tensor, tile: tuple[int, int, int]) -> torch.Tensor:
    (m, k), n = a.shape, b.shape[1]
    block_m, block_n, warps = tile
    c = torch.empty(m, n, device=a.device)
    thin_matmul_kernel[(triton.cdiv(m, block_m), triton.cdiv(n, block_n))](
        a, b, c, COLUMNS=n, BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_K=k, num_warps=warps
    )
    return c


def low_rank_update(weight: torch.Tensor, left: torch.Tensor, right: torch.Tensor, alpha: float, tile) -> torch.Tensor:
    """weight + alpha / rank * left @ right, as an adapter is merged."""
    return weight + alpha / left.shape[1] * thin_matmul(left, right, tile)


def reference(weight, left, right, alpha):
    return weight + alpha / left.shape[1] * (left.float() @ right.float())


def make(rows: int, columns: int, rank: int):
    torch.manual_seed(0)
    weight = torch.randn(rows, columns, device="cuda")
    left = torch.randn(rows, rank, device="cuda").bfloat16()
    right = torch.randn(rank, columns, device="cuda").bfloat16()
    return weight, left, right


def main() -> None:
    weight, left, right = make(512, 1024, 16)
    expected = reference(weight, left, right, 8.0)
    for tile in TILES:
        merged = low_rank_update(weight, left, right, 8.0, tile)
        torch.testing.assert_close(merged, expected, rtol=1e-2, atol=1e-2)
        print(tile, "ok")


if __name__ == "__main__":
    main()

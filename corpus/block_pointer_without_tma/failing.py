"""Does Triton use Hopper's TMA for block pointers? A copy of 4096 x 4096 halves in tiles of 128 x 128, as a study.

The shape is what TMA is for: contiguous rows, aligned bases, whole tiles, four stages. The reply is in the TTGIR.
"""

import argparse

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(
    source_ptr, target_ptr, rows, columns, source_stride, target_stride,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CHECK: tl.constexpr,
):
    """One program copies a row of tiles, with a block pointer that advances."""
    row = tl.program_id(0) * BLOCK_M
    source = tl.make_block_ptr(
        source_ptr, shape=(rows, columns), strides=(source_stride, 1), offsets=(row, 0),
        block_shape=(BLOCK_M, BLOCK_N), order=(1, 0),
    )
    target = tl.make_block_ptr(
        target_ptr, shape=(rows, columns), strides=(target_stride, 1), offsets=(row, 0),
        block_shape=(BLOCK_M, BLOCK_N), order=(1, 0),
    )
    for _ in range(0, tl.cdiv(columns, BLOCK_N)):
        if CHECK:
            tl.store(target, tl.load(source, boundary_check=(0, 1)), boundary_check=(0, 1))
        else:
            tl.store(target, tl.load(source))
        source = tl.advance(source, (0, BLOCK_N))
        target = tl.advance(target, (0, BLOCK_N))


def copy(source: torch.Tensor, block: int, check: bool, stages: int, warps: int) -> torch.Tensor:
    rows, columns = source.shape
    target = torch.empty_like(source)
    copy_kernel[(triton.cdiv(rows, block),)](
        source, target, rows, columns, source.stride(0), target.stride(0),
        BLOCK_M=block, BLOCK_N=block, CHECK=check, num_stages=stages, num_warps=warps,
    )
    return target


def gigabytes_per_second(source: torch.Tensor, repeats: int, **options) -> float:
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for _ in range(repeats):
        copy(source, **options)
    end.record()
    torch.cuda.synchronize()
    moved = 2 * source.numel() * source.element_size() * repeats
    return moved / max(begin.elapsed_time(end), 1e-6) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--block", type=int, default=128)
    parser.add_argument("--num-stages", type=int, default=4)
    parser.add_argument("--num-warps", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=2)
    args = parser.parse_args()
    source = torch.zeros(args.size, args.size, dtype=torch.float16, device="cuda")
    source[::3] = 1.0
    for check in (False, True):
        options = dict(block=args.block, check=check, stages=args.num_stages, warps=args.num_warps)
        torch.testing.assert_close(copy(source, **options), source)
        print(f"boundary check {check}: {gigabytes_per_second(source, args.repeats, **options):.0f} GB/s")


if __name__ == "__main__":
    main()

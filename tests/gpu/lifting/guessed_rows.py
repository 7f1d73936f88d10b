"""Marks the slots of evicted pages, then gathers rows of a pool; one of the slots was never assigned.

The fault is in the first kernel, and nothing waits for it before the second one is launched. Which of the two it was
is not in the error. Lifted with rows 0, 1, 2, ... instead of its own, the second would read far behind its pool: an
illegal access, too, and another fault.
"""

import torch
import triton
import triton.language as tl

UNASSIGNED = 1 << 40
STRIDE = 1 << 22


@triton.jit
def mark_kernel(slots_ptr, flags_ptr, BLOCK: tl.constexpr):
    slot = tl.load(slots_ptr + tl.arange(0, BLOCK))
    tl.store(flags_ptr + slot, 1)


@triton.jit
def gather_kernel(pool_ptr, rows_ptr, out_ptr, stride, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    at = tl.arange(0, ROWS)
    cols = tl.arange(0, WIDTH)
    row = tl.load(rows_ptr + at)
    x = tl.load(pool_ptr + row[:, None] * stride + cols[None, :])
    tl.store(out_ptr + at[:, None] * WIDTH + cols[None, :], x)


def evict(slots: torch.Tensor, count: int) -> torch.Tensor:
    flags = torch.zeros(count, dtype=torch.int8, device=slots.device)
    mark_kernel[(1,)](slots, flags, BLOCK=len(slots))
    return flags


def gather(pool: torch.Tensor, rows: torch.Tensor, width: int) -> torch.Tensor:
    out = torch.empty(len(rows), width, device=pool.device)
    gather_kernel[(1,)](pool, rows, out, pool.stride(0), ROWS=len(rows), WIDTH=width)
    return out


def main() -> None:
    slots = torch.arange(64, device="cuda")
    slots[17] = UNASSIGNED
    pool = torch.zeros(2, STRIDE, device="cuda")
    rows = torch.tensor([0, 1] * 32, device="cuda")
    flags = evict(slots, 64)
    found = gather(pool, rows, 16)
    torch.cuda.synchronize()
    print(flags.sum().item(), found.shape)


main()

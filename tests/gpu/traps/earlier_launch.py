# shrink --oracle "illegal memory access" --control-patch earlier_launch.diff --keep slot
# lure: the second launch alone: the table of slots that no kernel filled points far away, too
# must: (?s)\w\[[^\n]*\]\(.*\w\[[^\n]*\]\(
# ends: 1 illegal memory access|operation not supported on global
# cured by: return page << shift$ => return page & (shift - 1)
# fault: device fault: (an illegal memory access|operation not supported on global)
# naive: no guards
"""Paged cache in two launches: the first works out the slots, the second writes there."""

import torch
import triton
import triton.language as tl

EMPTY = -(1 << 40)


@triton.jit
def slot(page: tl.tensor, shift: tl.tensor):
    return page << shift


@triton.jit
def slot_kernel(pages_ptr, slots_ptr, shift, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(slots_ptr + at, slot(tl.load(pages_ptr + at), shift))


@triton.jit
def write_kernel(slots_ptr, cache_ptr, WIDTH: tl.constexpr):
    slot = tl.load(slots_ptr + tl.program_id(0))
    cols = tl.arange(0, WIDTH)
    tl.store(cache_ptr + slot * WIDTH + cols, 1.0)


def write(cache, pages, shift):
    slots = torch.full_like(pages, EMPTY)
    slot_kernel[(1,)](pages, slots, shift, BLOCK=len(pages))
    write_kernel[(len(pages),)](slots, cache, WIDTH=cache.shape[1])
    torch.cuda.synchronize()


cache = torch.zeros(64, 128, device="cuda")
for shift in (1, 32):
    write(cache, torch.tensor([0, 3, 5, 9], device="cuda"), shift)
    print(shift, cache.sum().item())

"""Rows of an embedding cache by slot, one at a time, with a scale for all of them."""

import torch
import triton
import triton.language as tl

SLOTS = [2100982, 2100726, 2100750]


@triton.jit
def lookup_kernel(table_ptr, slot_ptr, scale_ptr, out_ptr, width, BLOCK: tl.constexpr):
    slot = tl.load(slot_ptr)
    scale = tl.load(scale_ptr, mask=width > 0, other=1.0)
    for start in range(0, width, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        row = tl.load(table_ptr + slot * width + cols, mask=cols < width, other=0)
        tl.store(out_ptr + cols, row.to(tl.float32) * scale, mask=cols < width)


def main():
    table = torch.zeros(2101248, 1024, dtype=torch.int8, device="cuda")
    slots = torch.tensor([SLOTS[0], SLOTS[1], 7], dtype=torch.int32, device="cuda")
    slot = torch.tensor([2100982, 2100726], dtype=torch.int32, device="cuda")
    out = torch.zeros(1024, device="cuda")
    ones = torch.ones(1, device="cuda")

    lookup_kernel[(1,)](
        table, slot, ones, out,
        width=1024,
        BLOCK=256,
    )  # fmt: skip
    print(out.sum().item(), slots.tolist())


if __name__ == "__main__":
    main()

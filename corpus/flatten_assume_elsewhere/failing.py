"""Histogram of hits by cell; the shape without a halo promises that there are hits, and gets a counter of its own.

The promise is made inside of a branch. Outside of it the number of hits may be zero.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def count_kernel(hits_ptr, counts_ptr, marks_ptr, cells, hits, halo, WEIGHT: tl.constexpr, FLATTEN: tl.constexpr):
    if halo == 0:
        tl.assume(hits > 0)
        tl.store(marks_ptr, hits * WEIGHT)
    seen = 0
    for cell in tl.range(0, cells, flatten=FLATTEN):
        for hit in tl.range(0, hits):
            seen += (tl.load(hits_ptr + hit) == cell + halo).to(tl.int32)
        tl.store(counts_ptr + cell, seen * WEIGHT)


@triton.jit
def split_kernel(cumulated_ptr, out_ptr, cells, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < cells
    upto = tl.load(cumulated_ptr + offsets, mask=inside, other=0)
    before = tl.load(cumulated_ptr + offsets - 1, mask=inside & (offsets > 0), other=0)
    tl.store(out_ptr + offsets, upto - before, mask=inside)


class CellCounter:
    """Counts with one program; `flatten` joins the two loops into one, so that loads of the next cell start early."""

    def __init__(self, cells: int, halo: int, weight: int = 1, flatten: bool = True):
        self.cells = cells
        self.halo = halo
        self.weight = weight
        self.flatten = flatten

    def __call__(self, hits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        cumulated = torch.zeros(self.cells, dtype=torch.int32, device=hits.device)
        marks = torch.zeros(1, dtype=torch.int32, device=hits.device)
        count_kernel[(1,)](
            hits, cumulated, marks, self.cells, hits.numel(), self.halo,
            WEIGHT=self.weight, FLATTEN=self.flatten, num_warps=1,
        )
        out = torch.empty_like(cumulated)
        split_kernel[(triton.cdiv(self.cells, 256),)](cumulated, out, self.cells, BLOCK=256)
        return out, marks


def reference(hits: torch.Tensor, cells: int, halo: int, weight: int) -> torch.Tensor:
    inner = hits[(hits >= halo) & (hits < cells + halo)] - halo
    return torch.bincount(inner, minlength=cells).to(torch.int32) * weight


def main() -> None:
    torch.manual_seed(0)
    cells = 20
    for halo in (0, 3):
        for hits in (torch.randint(0, 30, (50,), device="cuda"), torch.empty(0, dtype=torch.int64, device="cuda")):
            if halo == 0 and hits.numel() == 0:
                continue  # promised not to happen
            hits = hits.to(torch.int32)
            expected = reference(hits.long(), cells, halo, 2)
            for flatten in (False, True):
                counts, _ = CellCounter(cells, halo, weight=2, flatten=flatten)(hits)
                torch.testing.assert_close(counts, expected)
            print(f"halo {halo}, {hits.numel()} hits ok")


if __name__ == "__main__":
    main()

"""Carry totals of a ledger: each page adds its entries to the running total, which is also the next page's opening."""

from dataclasses import dataclass

import torch
import triton
import triton.language as tl


@dataclass(frozen=True)
class Ledger:
    pages: int
    entries: int
    opening: int

    def random(self, seed: int) -> torch.Tensor:
        torch.manual_seed(seed)
        return torch.randint(-50, 50, (self.pages, self.entries), dtype=torch.int32, device="cuda")


@triton.jit
def entry(ptr, page, index, entries):
    return tl.load(ptr + page * entries + index)


@triton.jit
def carry_kernel(ledger_ptr, closing_ptr, pages, entries, opening, FLATTEN: tl.constexpr):
    """One program walks all pages; a page closes with its sum, the total so far, and what was brought forward."""
    total = opening
    brought = 0
    for page in tl.range(0, pages, flatten=FLATTEN):
        for index in range(entries):
            total += entry(ledger_ptr, page, index, entries)
        total += brought
        brought = total
        tl.store(closing_ptr + page, total)
    tl.store(closing_ptr + pages, brought)


@triton.jit
def page_sum_kernel(ledger_ptr, sums_ptr, entries, BLOCK: tl.constexpr):
    page = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    values = tl.load(ledger_ptr + page * entries + offsets, mask=offsets < entries, other=0)
    tl.store(sums_ptr + page, tl.sum(values, axis=0))


def closings(ledger: torch.Tensor, opening: int, flatten: bool) -> torch.Tensor:
    pages, entries = ledger.shape
    out = torch.empty(pages + 1, dtype=torch.int32, device=ledger.device)
    carry_kernel[(1,)](ledger, out, pages, entries, opening, FLATTEN=flatten, num_warps=1)
    return out


def page_sums(ledger: torch.Tensor) -> torch.Tensor:
    pages, entries = ledger.shape
    out = torch.empty(pages, dtype=torch.int32, device=ledger.device)
    page_sum_kernel[(pages,)](ledger, out, entries, BLOCK=triton.next_power_of_2(entries))
    return out


def reference(ledger: torch.Tensor, opening: int) -> torch.Tensor:
    total, brought = opening, 0
    out = []
    for page in ledger.tolist():
        total += sum(page) + brought
        brought = total
        out.append(total)
    return torch.tensor([*out, brought], dtype=torch.int32, device=ledger.device)


LEDGERS = [Ledger(pages=3, entries=8, opening=0), Ledger(pages=7, entries=20, opening=5)]


def main() -> None:
    for seed, shape in enumerate(LEDGERS):
        ledger = shape.random(seed)
        expected = reference(ledger, shape.opening)
        torch.testing.assert_close(page_sums(ledger), ledger.sum(1, dtype=torch.int32))
        for flatten in (False, True):
            torch.testing.assert_close(closings(ledger, shape.opening, flatten), expected)
            print(shape, "flattened" if flatten else "nested", "ok")


if __name__ == "__main__":
    main()

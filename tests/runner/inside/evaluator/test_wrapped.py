"""Of an integer that wraps: whether the access would be made if it did not."""

from __future__ import annotations

from typing import Any

WANTS = frozenset({"static:bounds"})
DUE = [True, False, True, False]

PROGRAM = """
import torch, triton, triton.language as tl


@triton.jit
def share(x, y, n):
    begin = tl.program_id(0) * n // 64
    end = (tl.program_id(0) + 1) * n // 64
    at = begin + tl.arange(0, 16)
    tl.store(y + at % 16, tl.load(x + at, mask=at < end, other=0))


@triton.jit
def undivided(x, y, n):
    at = tl.program_id(0) * n
    tl.store(y, tl.load(x + at, mask=at < tl.program_id(0), other=0))


@triton.jit
def rows(x, y, n):
    row = tl.program_id(0)
    tl.store(y, tl.load(x + row * n, mask=row < 64))


@triton.jit
def elements(x, y, n):
    at = tl.program_id(0) * n
    tl.store(y, tl.load(x + at, mask=at < 4 * n))


x, y = torch.zeros(48000000, dtype=torch.uint8, device="cuda"), torch.zeros(16, dtype=torch.uint8, device="cuda")
share[(64,)](x, y, 48000000)
undivided[(64,)](x, y, 48000000)
rows[(64,)](torch.zeros(64, 48000000, dtype=torch.uint8, device="cuda"), y, 48000000)
elements[(64,)](torch.zeros(4, 48000000, dtype=torch.uint8, device="cuda"), y, 48000000)
"""


def test_where_exact_arithmetic_makes_no_access_the_mask_takes_the_place_of_the_mistake(
    played: list[dict[str, Any]],
) -> None:
    found = [launch["causes"][0] for launch in played]
    assert [(each["kind"], each["exact"]) for each in found] == [("integer wrapped", False)] * 4
    assert [each["due"] for each in found] == DUE

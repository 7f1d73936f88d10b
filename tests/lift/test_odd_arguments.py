"""Arguments that are objects of the program's own: tuples with names, a dataclass or an enumeration as a constant."""

from __future__ import annotations

import importlib.util

import pytest

from tests.lift.conftest import Lift, same_launch

if importlib.util.find_spec("torch") is None:  # the tool's own tests run without it, too
    pytest.skip("needs torch", allow_module_level=True)

SCRIPT = """
import enum
from dataclasses import dataclass
from typing import NamedTuple

import torch
import triton
import triton.language as tl


class Shape(NamedTuple):
    rows: int
    cols: int


class Out(NamedTuple):
    sums: object
    counts: object


class Act(enum.Enum):
    RELU = "relu"
    NONE = "none"


@dataclass(frozen=True)
class Config:
    tile: int = 8
    scale: float = 1.0


@triton.jit
def row_sums(x, shape, out, CONFIG: tl.constexpr, ACT: tl.constexpr):
    i = tl.arange(0, CONFIG.tile)
    tl.store(out.sums, tl.sum(tl.load(x + i, i < shape.cols)) * CONFIG.scale)
    tl.store(out.counts[0], shape[0])


x, y = torch.ones(8, 64, device="cuda"), torch.ones(1, device="cuda")
n = torch.zeros(1, device="cuda", dtype=torch.int32)
row_sums[(1,)](x, Shape(8, 64), Out(y, (n, None)), Config(scale=2.0), Act.RELU)
torch.cuda.synchronize()
"""


def test_they_are_made_again(lifted: Lift) -> None:
    found = lifted(SCRIPT)
    same_launch(found.original, found.original.launches[-1], found.again)
    assert (
        "row_sums[(1,)](x, Shape(8, 64), Out(out, (out_2, None)), CONFIG=Config(tile=8, scale=2.0), ACT=Act.RELU)"
        in (found.text)
    )
    assert "Shape = namedtuple('Shape', 'rows cols')\n" in found.text
    assert "@dataclass(frozen=True)\nclass Config:" in found.text

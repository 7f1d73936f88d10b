"""A descriptor that a kernel makes begins at a multiple of 16 bytes, or a copy by it faults; its twin is sound."""

from __future__ import annotations

import pytest

from shrinkray_gpu.runner.inside.static import cause
from tests.runner.inside.conftest import Outcome, Play

PROGRAM = """
import torch, triton, triton.language as tl


@triton.jit
def halves(x, y, start, columns, pitch, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row = tl.program_id(0) * ROWS
    tiles = tl.make_tensor_descriptor(x + start, [32, columns], [pitch, 1], [ROWS, COLUMNS])
    out = tl.make_tensor_descriptor(y, [32, columns], [columns, 1], [ROWS, COLUMNS])
    for column in range(0, columns, COLUMNS):
        out.store([row, column], tiles.load([row, column]) * 0.5)


triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
x = torch.zeros(32, 80, dtype=torch.float16, device="cuda")
y = torch.zeros(32, 40, dtype=torch.float16, device="cuda")
halves[(2,)](LAUNCH, ROWS=16, COLUMNS=32)
torch.cuda.synchronize()
"""


def launched(play: Play, launch: str, **others: str) -> Outcome:
    text = PROGRAM.replace("LAUNCH", launch)
    for before, after in others.values():
        assert before in text
        text = text.replace(before, after)
    return play(text)


@pytest.mark.parametrize(
    ("launch", "way", "inputs", "parameters"),
    [
        ("x, y, 12, 40, x.stride(0)", "load", ["argument"], ["start", "x"]),
        ("x.flatten()[4:], y, 0, 40, x.stride(0)", "load", ["argument"], ["start", "x"]),
        ("x, y.flatten()[4:], 8, 32, x.stride(0)", "store", ["argument"], ["y"]),
    ],
    ids=["what is added", "what is passed", "a store"],
)
def test_a_copy_by_it_faults_and_what_it_is_made_of_is_told(
    play: Play, launch: str, way: str, inputs: list[str], parameters: list[str]
) -> None:
    seen = launched(play, launch)
    assert seen.faults == [f"tma-alignment: halves: TMA {way} of 16x32xf16, base of its descriptor 8 mod 16"]
    assert "misaligned address" in seen.error
    [found] = seen.launches[0]["causes"]
    assert (found["kind"], found["inputs"], found["parameters"]) == (cause.BASE, inputs, parameters)


@pytest.mark.parametrize("launch", ["x, y, 16, 40, x.stride(0)", "x.flatten()[8:], y, 0, 40, x.stride(0)"])
def test_one_that_begins_there_does_not(play: Play, launch: str) -> None:
    seen = launched(play, launch)
    assert seen.faults == [] and seen.exit == 0 and seen.launches[0]["causes"] == []


def test_one_that_no_copy_is_made_by_does_not(play: Play) -> None:
    seen = launched(play, "x, y, 12, 40, x.stride(0)", none=("range(0, columns", "range(columns, columns"))
    assert seen.faults == [] and seen.exit == 0


def test_a_stride_that_is_no_multiple_is_not_told_to_fault(play: Play) -> None:
    seen = launched(play, "x, y, 8, 40, 81")
    assert seen.faults == [] and "stride is no multiple of 16 bytes" in " ".join(seen.undecided)

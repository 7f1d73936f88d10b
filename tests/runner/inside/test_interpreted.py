"""Kernels that Triton's interpreter runs on the virtual GPU: what they write decides, and nothing else changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrinkray_gpu.runner.inside.launches.launch_log import INTERPRETED
from shrinkray_gpu.runner.inside.vgpu.interpreted import _read
from tests.runner.inside.conftest import Outcome, Play

WANTS = frozenset({"static:bounds", INTERPRETED})
KERNELS = """
import torch, triton, triton.language as tl

@triton.jit
def twice(x):
    return x + x

@triton.jit
def ends(counts, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.cumsum(tl.load(counts + i, mask=i < n, other=0), axis=0), mask=i < n)

@triton.jit
def total(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out, tl.sum(twice(tl.load(x + i, mask=i < n, other=0)), axis=0) // 2)

@triton.jit
def put(out, places):
    tl.store(out + tl.load(places + tl.program_id(0)), 1)

@triton.jit
def rank(keys, cursor, out, n, step, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    key = tl.load(keys + i, mask=i < n, other=0)
    tl.store(out + key * step + tl.atomic_add(cursor + key, 1, mask=i < n), i, mask=i < n)

def ints(*values):
    return torch.tensor(values, dtype=torch.int32, device="cuda")

def fresh(n):
    return torch.empty(n, dtype=torch.int32, device="cuda")
"""
INDEX = """
places = fresh(4)
ends[(1,)](ints(1, 2, 3, 4), places, 4, BLOCK=8)
put[(4,)](fresh(SIZE), places)
"""
COUNT = """
count = fresh(1)
total[(1,)](ints(1, 2, 3, 4), count, 4, BLOCK=8)
out = fresh(int(count[0]))
print("COUNT", out.numel())
put[(1,)](out, ints(9 + OFF))
"""
PARTLY = """
places = fresh(8)
ends[(1,)](ints(1, 2, 3, 4), places, 4, BLOCK=8)
put[(4,)](fresh(4), places)
"""
UNWRITTEN = """
places = fresh(4)
ends[(1,)](fresh(4), places, 4, BLOCK=8)
put[(4,)](fresh(4), places)
"""
OUTSIDE = """
places = fresh(4)
ends[(1,)](ints(1, 2), places, 4, BLOCK=8)
put[(4,)](fresh(4), places)
"""
LATER = """
places = fresh(4)
ends[(1,)](ints(1, 2, 3, 4), places, 4, BLOCK=8)
print("GLOBALS", "np" in globals(), type(twice).__name__, type(tl.sum).__name__)
total[(1,)](places, fresh(1), 4, BLOCK=4)
"""
FLOAT = """
@triton.jit
def scaled(x, y, scale, by: tl.constexpr):
    tl.store(y, tl.load(x).to(tl.float16) * scale.to(tl.float32) * by)

x, y = ints(1), torch.zeros(1, device="cuda")
scaled[(1,)](x, y, 1 + 2.0 ** -12, 1.0)
print("SCALED", float(y))
"""
ORDER = """
keys = torch.arange(12, device="cuda", dtype=torch.int32) % 3
rank[(3,)](keys, ints(0, 0, 0), fresh(SIZE), 12, 4, BLOCK=4)
"""

LIBDEVICE = """
IMPORT

@triton.jit
def bent(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(out + i, CALL * 2, mask=i < n)

x = torch.rand(10, device="cuda") + 0.5
out = torch.empty_like(x)
bent[(1,)](x, out, 10, 16)
print("CLOSE", torch.allclose(out, RIGHT * 2))
"""


def faults(outcome: Outcome) -> list[bool]:
    return [bool(launch["fault"]) for launch in outcome.launches]


@pytest.mark.parametrize(("size", "faulty"), [(10, True), (11, False)])
def test_an_index_that_a_kernel_wrote_decides(play: Play, size: int, faulty: bool) -> None:
    outcome = play(KERNELS + INDEX.replace("SIZE", str(size)), wants=WANTS)
    assert not outcome.error and faults(outcome) == [False, faulty]
    assert [launch["unfollowed"] for launch in outcome.launches] == ["", ""]
    assert [launch["interpreted"] for launch in outcome.launches] == [True, not faulty]


def test_who_does_not_ask_for_it_gets_no_answer(play: Play) -> None:
    outcome = play(KERNELS + INDEX.replace("SIZE", "10"), wants=frozenset({"static:bounds"}))
    assert faults(outcome) == [False, False] and "was not computed" in outcome.launches[1]["undecided"]
    assert not any(launch["interpreted"] for launch in outcome.launches)


@pytest.mark.parametrize(("off", "faulty"), [("1", True), ("0", False)])
def test_the_host_reads_the_number_that_a_kernel_wrote(play: Play, off: str, faulty: bool) -> None:
    outcome = play(KERNELS + COUNT.replace("OFF", off), wants=WANTS)
    assert "COUNT 10" in outcome.printed and faults(outcome) == [False, faulty]


def test_what_a_kernel_left_unwritten_is_not_known(play: Play) -> None:
    outcome = play(KERNELS + PARTLY, wants=WANTS)
    assert outcome.launches[0]["interpreted"] and "was not computed" in outcome.launches[1]["undecided"]


@pytest.mark.parametrize("program", [UNWRITTEN, OUTSIDE], ids=["reads what nobody wrote", "leaves its tensor"])
def test_such_a_launch_is_not_run(play: Play, program: str) -> None:
    outcome = play(KERNELS + program, wants=WANTS)
    assert not outcome.launches[0]["interpreted"] and not outcome.launches[1]["interpreted"]


LARGEST = """
@triton.jit
def largest(x, out, seen, n, off, BEFORE: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n, other=-1.0)
    at = tl.max(tl.where(value == tl.max(value, axis=0), i, 0), axis=0) + off
    if BEFORE:
        tl.store(out, tl.load(out) * 0)
    tl.store(out, at)
    tl.store(out, tl.load(out) + 1)
    tl.atomic_add(seen + at, 1)

x, out, seen = torch.tensor([1.0, 5.0, 2.0], device="cuda"), fresh(1), ints(0, 0, 0)
largest[(1,)](x, out, seen, 3, OFF, BEFORE=FIRST, BLOCK=4)
print("LARGEST", out.tolist(), seen.tolist())
"""


def test_an_index_that_only_the_interpreter_knows_is_looked_at(play: Play) -> None:
    """No IR tells where the largest element is. The kernel also reads again what it wrote."""
    outcome = play(KERNELS + LARGEST.replace("OFF", "0").replace("FIRST", "0"), wants=WANTS)
    assert outcome.launches[0]["unfollowed"] and outcome.launches[0]["interpreted"]
    assert "LARGEST [2] [0, 1, 0]" in outcome.printed


@pytest.mark.parametrize(("off", "first"), [("5", "0"), ("0", "1")], ids=["outside", "reads what nobody wrote"])
def test_nor_is_one_run_that_does_so_by_such_an_index(play: Play, off: str, first: str) -> None:
    outcome = play(KERNELS + LARGEST.replace("OFF", off).replace("FIRST", first), wants=WANTS)
    assert not outcome.launches[0]["interpreted"]


def test_kernels_are_compiled_as_before_afterwards(play: Play) -> None:
    outcome = play(KERNELS + LATER, wants=WANTS)
    assert "GLOBALS False JITFunction JITFunction" in outcome.printed and not outcome.error
    assert [launch["interpreted"] for launch in outcome.launches] == [True, True]


@pytest.mark.parametrize(("size", "faulty"), [(11, True), (12, False)])
def test_what_an_atomic_addition_gives_back_is_followed(play: Play, size: int, faulty: bool) -> None:
    outcome = play(KERNELS + ORDER.replace("SIZE", str(size)), wants=frozenset({"static:bounds"}))
    assert faults(outcome) == [faulty] and outcome.launches[0]["unfollowed"] == ""


@pytest.mark.parametrize(("size", "faulty"), [(14, True), (15, False)])
def test_each_order_of_the_lanes_counts(play: Play, size: int, faulty: bool) -> None:
    """The first lane of all is the last of its key in some order only."""
    kernels = KERNELS.replace("out + key * step + tl.atomic", "out + 11 - i + tl.atomic")
    outcome = play(kernels + ORDER.replace("SIZE", str(size)), wants=frozenset({"static:bounds"}))
    assert faults(outcome) == [faulty] and outcome.launches[0]["unfollowed"] == ""


def test_an_outcome_that_is_not_whole_is_not_believed(tmp_path: Path) -> None:
    kept = tmp_path / "interpreted-0"
    assert _read(str(kept), [2, 3]) is None
    kept.write_bytes(b"abcde")
    assert _read(str(kept), [2, 3]) == [b"ab", b"cde"] and _read(str(kept), [2, 2]) is None


def test_a_float_argument_has_the_32_bits_that_it_has_in_compiled_code(play: Play) -> None:
    outcome = play(KERNELS + FLOAT, wants=WANTS)
    assert f"SCALED {1 + 2.0**-12}" in outcome.printed, outcome
    assert [launch["interpreted"] for launch in outcome.launches] == [True]


@pytest.mark.parametrize(
    ("imported", "call", "right"),
    [
        ("from triton.language.extra import libdevice", "libdevice.tanh(value)", "x.tanh()"),
        ("from triton.language.extra.cuda.libdevice import rsqrt", "rsqrt(value)", "x.rsqrt()"),
        ("from triton.language.extra.libdevice import pow as power", "power(value, tl.sum(value) * 0 + 3.0)", "x**3"),
    ],
)
def test_functions_of_libdevice_are_torchs(play: Play, imported: str, call: str, right: str) -> None:
    program = LIBDEVICE.replace("IMPORT", imported).replace("CALL", call).replace("RIGHT", right)
    outcome = play(KERNELS + program, wants=WANTS)
    assert [launch["interpreted"] for launch in outcome.launches] == [True] and "CLOSE True" in outcome.printed, outcome


def test_a_function_of_libdevice_that_has_no_stand_in_is_not_run(play: Play) -> None:
    program = LIBDEVICE.replace("IMPORT", "from triton.language.extra import libdevice").replace("RIGHT", "x")
    outcome = play(KERNELS + program.replace("CALL", "libdevice.j0(value)"), wants=WANTS)
    assert [launch["interpreted"] for launch in outcome.launches] == [False]

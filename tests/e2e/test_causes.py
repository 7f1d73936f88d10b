"""Faults that the evaluator tells, reduced by the real command without a GPU: the cause stays, and its cure cures."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shrinkray_gpu.oracle import Answer
from tests.e2e.command import only, shrink
from tests.e2e.conftest import Judged

UNTRUE_HINT = '''\
"""Rows of a message. A row is said to begin at a multiple of 16 values, and has 514."""

import torch
import triton
import triton.language as tl


@triton.jit
def read_rows(values, out, stride, COLUMNS: tl.constexpr):
    row = tl.program_id(0)
    start = tl.multiple_of(row * stride, 16)
    column = tl.arange(0, COLUMNS)
    tl.store(out + row * COLUMNS + column, tl.load(values + start + column))


def rows(message, count, columns):
    out = torch.zeros(count, columns, device=message.device)
    read_rows[(count,)](message, out, message.shape[0] // count, COLUMNS=columns)
    return out


print(rows(torch.zeros(8 * 514, device="cuda"), 8, 512).sum().item())
'''
NEVER_CLEARED = '''\
"""Sums of rows, added to what the workspace holds. Whoever made that has cleared a half of it."""

import torch
import triton
import triton.language as tl


@triton.jit
def add_rows(values, sums, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    total = tl.sum(tl.load(values + row * columns + column, mask=column < columns, other=0.0))
    tl.store(sums[0] + row, total + tl.load(sums[1] + row))


class Workspace:
    def __init__(self, rows):
        self.sums = torch.zeros(rows, device="cuda")
        self.before = torch.empty(rows, device="cuda")


def main(rows, columns):
    space = Workspace(rows)
    values = torch.ones(rows, columns, device="cuda")
    add_rows[(rows,)](values, (space.sums, space.before), columns, BLOCK=triton.next_power_of_2(columns))
    print(space.sums.sum().item())


main(4, 100)
'''

LOST_UPDATE = """import torch, triton, triton.language as tl
@triton.jit
def fill(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, at % 8, mask=at < n)
@triton.jit
def count(x, counts, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=-1)
    number = tl.arange(0, 8)
    mine = tl.sum((value[:, None] == number[None, :]).to(tl.int32), axis=0)
    tl.store(counts + number, tl.load(counts + number) + mine)
def main(n, block=32):
    x, counts = (torch.zeros(size, dtype=torch.int32, device="cuda") for size in (n, 8))
    fill[(triton.cdiv(n, block),)](x, n, BLOCK=block)
    count[(triton.cdiv(n, block),)](x, counts, n, BLOCK=block)
    print(counts.tolist())
main(256)
"""
SHORT = only("decorations", "statements", "constants")
"""Ends by itself: by a clock, what a busy machine asks of the guards is little."""


def reduced(folder: Path, program: str, oracle: str, cause: str) -> str:
    """The repro's text; it keeps this cause."""
    pytest.importorskip("triton")
    (folder / "failing.py").write_text(program)
    asked = ("--oracle", oracle, "--arch", "sm_90", "--jobs", "1", *SHORT, "--json")
    said = shrink("failing.py", *asked, cwd=folder)
    assert said.code == 0, said
    assert f"by where it begins ({cause})" in said.result["same"]
    return (folder / "repro_failing.py").read_text()


@pytest.mark.slow
def test_an_untrue_hint(tmp_path: Path, judged: Judged) -> None:
    oracle = "misaligned address"
    repro = reduced(tmp_path, UNTRUE_HINT, oracle, "untrue hint (integer)")
    honest = re.sub(r"tl\.multiple_of\((.*?), \d+\)", r"(\1)", repro)
    assert honest != repro
    assert judged(repro, oracle).answer is Answer.FAULTS and judged(honest, oracle).answer is Answer.PASSES


@pytest.mark.slow
def test_memory_that_nobody_wrote(tmp_path: Path, judged: Judged) -> None:
    oracle = "static:uninitialised"
    repro = reduced(tmp_path, NEVER_CLEARED, oracle, "memory that nobody wrote")
    assert repro.count("torch.empty(") == 1
    cleared = repro.replace("empty(", "zeros(")
    assert judged(repro, oracle).answer is Answer.FAULTS and judged(cleared, oracle).answer is Answer.PASSES


@pytest.mark.slow
def test_program_instances_that_race(tmp_path: Path, judged: Judged) -> None:
    oracle = "static:race"
    repro = reduced(tmp_path, LOST_UPDATE, oracle, "race (load-store)")
    assert "def fill" not in repro and "program_id" in repro
    assert repro.count("tl.store(") == repro.count("tl.load(counts") == 1
    atomic = re.sub(r"tl\.load\(counts[^()]*\) \+ ", "", repro).replace("tl.store(", "tl.atomic_add(")
    assert atomic != repro
    assert judged(repro, oracle).answer is Answer.FAULTS and judged(atomic, oracle).answer is Answer.PASSES


@pytest.mark.slow
def test_the_fault_is_told_by_the_file_s_own_line_where_a_lifted_script_is_reduced(tmp_path: Path) -> None:
    pytest.importorskip("triton")
    stated = 'read_rows[8,](torch.zeros(8 * 514, device="cuda"), torch.zeros(4096, device="cuda"), 514, COLUMNS=512)'
    text = f"{UNTRUE_HINT.partition('def rows')[0]}{stated}\ntorch.cuda.synchronize()\n"
    (tmp_path / "failing.py").write_text(text)
    said = shrink("failing.py", "--oracle", "static:alignment", "--arch", "sm_90", "--max-time", "1", cwd=tmp_path)
    line = next(at for at, text in enumerate(UNTRUE_HINT.splitlines(), 1) if "multiple_of" in text)
    assert "lifted: launch 1 of 1" in said.err
    assert f"a value (failing.py:{line}:" in said.err, said.err


def test_what_the_front_end_refuses_is_not_run_again(tmp_path: Path) -> None:
    pytest.importorskip("triton")
    (tmp_path / "failing.py").write_text(UNTRUE_HINT.replace("tl.arange(0, COLUMNS)", "tl.arange(0, 3)"))
    said = shrink("failing.py", "--oracle", "zzz", "--arch", "sm_90", "--check", cwd=tmp_path)
    assert said.code == 3 and "does not show 'zzz'. The program showed another fault" in said.message, said

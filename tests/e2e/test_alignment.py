"""An access that is not aligned, reduced by the real command without a GPU: the untrue claim stays as its cause."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.e2e.command import shrink

PROGRAM = '''\
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
ASKED = ("--oracle", "misaligned address", "--arch", "sm_90")


@pytest.mark.slow
def test_the_untrue_claim_stays_and_without_it_the_repro_is_sound(tmp_path: Path) -> None:
    pytest.importorskip("triton")
    (tmp_path / "failing.py").write_text(PROGRAM)
    said = shrink("failing.py", *ASKED, "--jobs", "1", "--max-time", "10", "--no-report", "--json", cwd=tmp_path)
    assert said.code == 0, said
    answer = json.loads(said.out)
    assert "by where it begins (untrue hint (integer))" in answer["same"]
    repro = (tmp_path / "repro_failing.py").read_text()
    honest = re.sub(r"tl\.multiple_of\((.*?), \d+\)", r"(\1)", repro)
    assert honest != repro
    (tmp_path / "honest.py").write_text(honest)
    assert shrink("repro_failing.py", *ASKED, "--check", cwd=tmp_path).code == 0
    assert shrink("honest.py", *ASKED, "--check", cwd=tmp_path).code == 3

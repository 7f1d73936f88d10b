"""A launch whose way is decided by what an earlier kernel wrote is not lifted alone, where nothing else tells causes.

On a GPU nobody follows the IR of the program. Here the virtual one stands for it, with what it knows of causes unasked.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from shrinkray_gpu.calibration import Limits
from shrinkray_gpu.oracle import all_of, parse
from shrinkray_gpu.oracle.same import SameFaultOracle, same_fault
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Script
from shrinkray_gpu.start import Start, UserProgram, choice
from shrinkray_gpu.start.whole_program import WholeProgram
from tests.start.test_choice import never

PROGRAM = """
import torch
import triton
import triton.language as tl


@triton.jit
def ends_kernel(lengths, starts, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(starts + at, tl.cumsum(tl.load(lengths + at), axis=0))


@triton.jit
def mark_kernel(starts, out):
    tl.store(out + tl.load(starts + tl.program_id(0)), 1.0)


lengths = torch.full((4,), 2, dtype=torch.int32, device="cuda")
starts = torch.empty_like(lengths)
ends_kernel[(1,)](lengths, starts, BLOCK=4)
mark_kernel[(4,)](starts, torch.zeros(8, device="cuda"))
torch.cuda.synchronize()
"""


def start(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch, *, gpu: bool) -> Start:
    scratch = folder / "failing.shrink" / "scratch"
    scratch.mkdir(parents=True)
    (folder / "failing.py").write_text(text)
    setup = Setup(sys.executable, {}, (), (str(folder),), str(scratch), arch=90, confine=False)
    oracle = same_fault(all_of([parse("illegal memory access", folder=folder)]))
    script = oracle.needs.on(Script(folder / "failing.py", cwd=folder), virtual=True)
    given = UserProgram(Program.from_text(text, str(folder / "failing.py")), script, setup, oracle, never, Limits(1))
    monkeypatch.setattr(SameFaultOracle, "_drift", lambda self, run: "")
    monkeypatch.setattr(WholeProgram, "keeping_what_host_makes", lambda *args: None)
    search = choice.StartSearch(given.with_kernels_run(), lambda said: None)
    search.runs.gpu = gpu
    return search.start()


def test_the_launch_before_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = start(tmp_path, PROGRAM, monkeypatch, gpu=True)
    assert found.history and "ends_kernel[" in found.program.text and "mark_kernel[" in found.program.text
    assert "what an earlier kernel wrote decides where mark_kernel goes" in found.told

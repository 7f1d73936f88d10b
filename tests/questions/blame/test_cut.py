"""A verdict that rests on there being no change elsewhere is none where the search for one was cut short."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from shrinkray_gpu.questions.blame import in_brief
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.runner.private_setup import private_setup
from shrinkray_gpu.same_fault import healthy_twin

TEXT = """\
import torch, triton, triton.language as tl
@triton.jit
def copy(x, y, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + at, tl.load(x + at))
x, y = torch.zeros(64, device="cuda"), torch.zeros(64, device="cuda")
copy[(5,)](x, y, B=16)
torch.cuda.synchronize()
"""


def test_a_grid_with_one_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    setup = private_setup(tmp_path, {}, python=sys.executable, imports=("torch", "triton"), own=(), arch=90)
    script = Script(tmp_path / "failing.py", cwd=tmp_path)
    pool = Pool(script, setup, mode="virtual", jobs=1, seconds=60)
    try:
        run = pool.run(TEXT, wants=healthy_twin.WANTS, machine_code=False)
    finally:
        pool.close()
    monkeypatch.setattr(in_brief, "SECONDS", 200.0)
    told = in_brief.blame_in_brief(TEXT, script, setup, run, seconds=60)
    assert (told.whose, told.place) == ("host program", "failing.py:7"), told
    assert told.reached == "failing.py:7 launches copy" and "(4,) for (5,)" in told.enough
    monkeypatch.setattr(in_brief, "SECONDS", 0.0)
    told = in_brief.blame_in_brief(TEXT, script, setup, run, seconds=60)
    assert told.whose == "not known" and told.why.endswith("the time for that was over") and not told.upstream

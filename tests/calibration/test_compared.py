"""How often the original runs before candidates are held against its check."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from shrinkray_gpu.calibration import Limits, Plan, make
from shrinkray_gpu.oracle import parse
from shrinkray_gpu.oracle.same import SameFaultOracle, same_fault
from shrinkray_gpu.runner.inside.compare.comparison import AGAINST, SAVE, UNWRITTEN
from shrinkray_gpu.runner.inside.launches.launch_log import INTERPRETED
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.runner.run import Run

TEXT = """\
import torch
import triton
import triton.language as tl


@triton.jit
def double(x, y, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(y + at, tl.load(x + at) * 3)


x, y = torch.arange(16.0, device="cuda"), torch.empty(16, device="cuda")
double[(1,)](x, y, 16)
torch.testing.assert_close(y, x * 2)
"""


@pytest.fixture
def colds(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """What each cold run was asked for."""
    asked: list[tuple[str, ...]] = []
    cold = Pool.cold

    def counted(self: Pool, source: str, **given: object) -> Run:
        asked.append(given.get("wants", ()))  # type: ignore[arg-type]
        return cold(self, source, **given)  # type: ignore[arg-type]

    monkeypatch.setattr(Pool, "cold", counted)
    return asked


def planned(folder: Path, text: str) -> tuple[Plan, SameFaultOracle]:
    """The plan of a reduction that has seen the program once, as one that begins with a program in one file has."""
    path = folder / "failing.py"
    path.write_text(text)
    setup = Setup(sys.executable, dict(os.environ), (), (str(folder),), str(folder), arch=90, confine=False)
    script = Script(path, cwd=folder, original=text, wants=(INTERPRETED,))
    seen = Pool(script, setup, mode="cold", jobs=1, seconds=100.0).cold(text, wants=(INTERPRETED,))
    oracle = same_fault(parse("Tensor-likes are not close", folder=folder)).calibrate(seen)
    assert isinstance(oracle, SameFaultOracle)
    plan = make(text, script, setup, oracle=oracle, limits=Limits(2), seen=[seen], bound=True)
    bound = plan.oracle
    assert isinstance(bound, SameFaultOracle)
    return plan, bound


def test_two_cold_runs_tell_which_check_fails_and_that_nothing_unwritten_comes_to_it(
    tmp_path: Path, colds: list[tuple[str, ...]]
) -> None:
    plan, oracle = planned(tmp_path, TEXT)
    plan.close()
    _first, saving, against = colds
    assert any(want.startswith(SAVE) for want in saving) and any(want.startswith(AGAINST) for want in against)
    assert UNWRITTEN in against
    assert oracle.needs.written and oracle.comparison is not None and oracle.comparison.apart == "0"


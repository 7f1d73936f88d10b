"""A fault that only compute-sanitizer sees: its launch is lifted all the same, and its cause is kept."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from shrinkray_gpu.errors import NotReproduced
from shrinkray_gpu.job.reduce import reduce
from shrinkray_gpu.options import Options

pytestmark = pytest.mark.gpu

PROGRAM = Path(__file__).parent / "lifting" / "overrun.py"
ALONE = {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
"""Else what lies behind a tensor is torch's own, and the sanitizer does not object."""


def test_an_overrun_that_no_driver_sees(tmp_path: Path) -> None:
    shutil.copy(PROGRAM, tmp_path / "failing.py")
    asked = Options(oracle=("sanitizer:memcheck",), cwd=tmp_path, environment=ALONE, jobs=6, max_time=150, report=False)
    result = reduce(tmp_path / "failing.py", asked, say=print)
    print(result.lifted, result.same, dict(result.tries), dict(result.seconds), result.after, result.text, flush=True)
    assert result.ended == "done" and result.verified == result.final_runs
    assert result.lifted.startswith("lifted: launch") and "(scale)" in result.lifted
    assert result.after[0] <= 12
    assert "tl.arange" in result.text and "mask=" not in result.text


def test_what_no_driver_sees_is_told_where_it_is_not_shown(tmp_path: Path) -> None:
    shutil.copy(PROGRAM, tmp_path / "failing.py")
    asked = Options(oracle=("illegal memory access",), cwd=tmp_path, jobs=6, report=False)
    with pytest.raises(NotReproduced, match="breaks the static rule bounds .* or on this GPU with --oracle sanitizer:"):
        reduce(tmp_path / "failing.py", asked, say=print)

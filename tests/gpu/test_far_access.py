"""An access far behind its tensor, on a real GPU: a context that ran other candidates has other memory mapped there
than a fresh one. So a lane that was used before may say "yes" where a cold process says "no"."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import tomlkit

from shrinkray_gpu.job.reduce import reduce
from shrinkray_gpu.judging.tiered_test import TieredTest
from shrinkray_gpu.options import Options
from shrinkray_gpu.reduction.outcome import ProgressEvent

pytestmark = pytest.mark.gpu

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "programs" / "strided_gather"
SECONDS = 600
"""Of search, at most."""


def test_every_clean_run_of_the_result_shows_the_fault(tmp_path: Path) -> None:
    shutil.copy(PROGRAM / "failing.py", tmp_path)
    known = tomlkit.parse((PROGRAM / "program.toml").read_text()).unwrap()

    def show(event: ProgressEvent, test: TieredTest) -> None:
        if event.kind in ("accepted", "rolled back"):
            print(event.kind, event.pass_name, event.program.size.tokens, dict(test.tries), flush=True)

    oracle = tuple(known["oracle"])
    asked = Options(oracle=oracle, cwd=tmp_path, jobs=12, max_time=SECONDS, report=False)
    result = reduce(tmp_path / "failing.py", asked, say=print, progress=show)
    print(dict(result.seconds), result.after, result.ended, "\n" + result.text, flush=True)
    assert result.ended == "done" and result.verified == result.final_runs

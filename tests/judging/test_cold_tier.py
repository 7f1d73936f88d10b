"""A cold run that tells nothing is asked again with more time; one that tells something is not."""

from __future__ import annotations

import os
import sys
from contextlib import closing
from pathlib import Path

import pytest

from shrinkray_gpu.judging.tally import COLD
from shrinkray_gpu.judging.tiered_test import TieredTest
from shrinkray_gpu.oracle import parse
from shrinkray_gpu.oracle.verdict import Answer, Verdict
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.runner.zygotes import ZYGOTES


def confirmed(folder: Path, text: str, seconds: float) -> tuple[Verdict, int]:
    """The verdict of a cold process that has so many seconds, and how many processes it took."""
    setup = Setup(sys.executable, dict(os.environ), (), (), str(folder), confine=False)
    pool = Pool(Script(folder / "failing.py", cwd=folder), setup, mode="cold", jobs=1, seconds=seconds, extra=0.0)
    test = TieredTest(parse("exception:IndexError", folder=folder), pool)
    try:
        return test.cold.settle(test.candidate(text)), test.tries[COLD]
    finally:
        test.close()
        pool.close()


@pytest.mark.parametrize(
    ("text", "seconds", "answer", "tries"),
    [
        ("[][0]\n", 60, Answer.FAULTS, 1),
        ("print(7)\n", 60, Answer.PASSES, 1),
        ("import time\ntime.sleep(3)\n[][0]\n", 2.5, Answer.FAULTS, 2),
        ("import os\nos.kill(os.getpid(), 9)\n", 60, Answer.UNKNOWN, 2),
    ],
)
def test_slow_and_killed_runs_are_asked_again(
    tmp_path: Path, text: str, seconds: float, answer: Answer, tries: int
) -> None:
    verdict, ran = confirmed(tmp_path, text, seconds)
    assert (verdict.answer, ran) == (answer, tries), verdict.why


def test_a_confirmation_has_another_seed_for_hashes_than_lanes_and_than_the_next_one(tmp_path: Path) -> None:
    """Else a step that makes the fault hang on the order of a set is never noticed."""
    pytest.importorskip("triton")
    text = "import torch\nimport triton\nraise IndexError(hash('a'))\n"
    setup = Setup(sys.executable, dict(os.environ), ("torch", "triton"), (), str(tmp_path), confine=False)
    pool = Pool(Script(tmp_path / "failing.py", cwd=tmp_path), setup, mode="fork", jobs=1, seconds=60)
    oracle = parse("exception:IndexError", folder=tmp_path)
    with ZYGOTES.wanted(), closing(pool), closing(TieredTest(oracle, pool)) as test:
        lanes = [pool.run(text), pool.forking().cold(text)]
        runs = [test.cold.run(test.candidate(text), True)[1] for _ in range(2)]
    seeds = [run.failure.text for run in (*lanes, *runs) if run is not None and run.failure is not None]
    assert len(seeds) == 4 and seeds[0] == seeds[1] and len(set(seeds)) == 3, seeds

"""A cold run that tells nothing is asked again with more time; one that tells something is not."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from shrinkray_gpu.judging.tally import COLD
from shrinkray_gpu.judging.tiered_test import TieredTest
from shrinkray_gpu.oracle import parse
from shrinkray_gpu.oracle.verdict import Answer, Verdict
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script


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

"""Answers in a replay: what is not final is taken from the journal as often as the course before put it there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from shrinkray_gpu.oracle.verdict import Answer, Verdict
from shrinkray_gpu.reduction.cached_test import CachedTest
from shrinkray_gpu.reduction.journal import Journal
from shrinkray_gpu.reduction.limits import Ending, TrialTriesSpent
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.state import State
from tests.reduction.course import Interest

ORIGINAL = Program.from_text("a = 1\nb = 2\n")
ALIKE = [Program.from_text(text) for text in ("a = 1\n", "a = 1  # one\n")]
PASSES = Verdict(Answer.PASSES, "ran")


class NoChecks:
    """Nothing is refuted or doubted."""

    def refute(self, candidate: Program) -> bool:
        return False

    def doubt(self, candidates: Sequence[Program], answers: list[bool | None], *, same: str) -> None:
        return None


def begun(folder: Path, *, resume: bool, budget: int | None = None) -> tuple[CachedTest, list[Program]]:
    """The answers of a flaky fault, and what the judge is asked."""
    asked: list[Program] = []

    def judge(programs: Sequence[Program]) -> list[Verdict]:
        asked.extend(programs)
        return [PASSES for _ in programs]

    journal = Journal.open(folder, original=ORIGINAL, seed=0, width=1, settings={}, resume=resume)
    state = State(ORIGINAL, ORIGINAL, lambda event: None, budget=budget)
    ending = Ending(lambda: False, None, lambda: 0.0, lambda: None)
    checks: Any = NoChecks()
    none = lambda program, verdict: None  # noqa: E731
    return CachedTest(Interest(judge), state, journal, checks, ending, other_fault=none, flaky=True), asked


def test_one_answer_serves_all_candidates_of_a_call_that_are_the_same_code(tmp_path: Path) -> None:
    for resume in (False, True):
        test, asked = begun(tmp_path, resume=resume)
        assert test.consider(ALIKE) == [False, False] and test.state.counts.considered == 1
        assert len(asked) == (0 if resume else 1)
        test.journal.close()


def test_a_trial_that_is_over_takes_no_answer_from_the_journal(tmp_path: Path) -> None:
    test, _ = begun(tmp_path, resume=False)
    test.consider(ALIKE)
    test.journal.close()
    test, asked = begun(tmp_path, resume=True, budget=0)
    with pytest.raises(TrialTriesSpent):
        test.consider(ALIKE)
    assert test.journal.recall(ALIKE[0].key) == PASSES and not asked
    test.journal.close()

"""Between which releases a case changed, by asking few of them."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from shrinkray_gpu.corpus.bisection import ReleaseStep, steps
from shrinkray_gpu.corpus.case import Case
from shrinkray_gpu.corpus.expectation import CaseOutcome, Status
from shrinkray_gpu.errors import UsageError
from tests.corpus.making import case, outcome

RELEASES = [f"3.{minor}.0" for minor in range(8)]
SIGNS = {"F": Status.FAULTS, ".": Status.FIXED, "C": Status.CHANGED, "~": Status.FLAKY, "-": Status.CANNOT}


class History:
    """What each release does, a sign each, and which were asked."""

    def __init__(self, folder: Path, signs: str, of: Case | None = None) -> None:
        self.case, self.signs, self.asked = of or case(folder), signs, list[str]()

    def __call__(self, release: str) -> CaseOutcome:
        self.asked.append(release)
        status = SIGNS[self.signs[RELEASES.index(release)]]
        return outcome(self.case, status, triton=release, why="so it is", shown=1, runs=2)


def found(history: History) -> list[tuple[str, str]]:
    assert history.asked == []
    result = [(step.before, step.after) for step in steps("lookup", RELEASES, history)]
    assert len(history.asked) == len(set(history.asked))
    return result


@pytest.mark.parametrize(
    ("signs", "changes"),
    [
        ("FFFFF...", [("3.4.0", "3.5.0")]),
        ("F.......", [("3.0.0", "3.1.0")]),
        (".......F", [("3.6.0", "3.7.0")]),
        ("FFFCC...", [("3.2.0", "3.3.0"), ("3.4.0", "3.5.0")]),
        ("--FF-...", [("3.3.0", "3.5.0")]),
        ("FF...---", [("3.1.0", "3.2.0")]),
        ("F~F~....", [("3.3.0", "3.4.0")]),
    ],
)
def test_the_releases_between_which_it_changed(tmp_path: Path, signs: str, changes: list[tuple[str, str]]) -> None:
    assert found(History(tmp_path, signs)) == changes


def test_whatever_the_history_each_change_told_is_one(tmp_path: Path) -> None:
    rng = random.Random(3)
    lookup = case(tmp_path)
    for _ in range(300):
        signs = "".join(rng.choice("F.C~-") for _ in RELEASES)
        history = History(tmp_path, signs, lookup)
        if set(signs) == {"-"}:
            continue
        for step in steps("lookup", RELEASES, history):
            if step.before:
                before, after = RELEASES.index(step.before), RELEASES.index(step.after)
                assert before < after and step.was != step.now
                assert {step.before, step.after} <= set(history.asked)
                assert "-" not in signs[before] + signs[after]
        assert len(history.asked) == len(set(history.asked))


def test_few_are_asked(tmp_path: Path) -> None:
    history = History(tmp_path, "FFFFF...")
    found(history)
    assert len(history.asked) <= 5


@pytest.mark.parametrize("signs", ["FFFFFFFF", "F~~~~~~F", "~FFFFFF~"])
def test_no_change_is_told_as_such(tmp_path: Path, signs: str) -> None:
    (step,) = steps("lookup", RELEASES, History(tmp_path, signs))
    assert step.before == "" and str(step).endswith("in every release asked that can run it (3.0.0 to 3.7.0)")


def test_how_a_step_is_told() -> None:
    step = ReleaseStep("lookup", "3.4.0", "still faults", "3.5.0", "fixed")
    assert str(step) == "lookup: still faults in triton 3.4.0, fixed in triton 3.5.0"


def test_where_none_can_run_it_the_reason_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no release of Triton that was asked can run lookup here: so it is"):
        steps("lookup", RELEASES, History(tmp_path, "--------"))

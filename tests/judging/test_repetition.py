"""How often a candidate is asked again: programs whose runs are drawn here, and what becomes of them."""

from __future__ import annotations

import os
import random
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from shrinkray_gpu.judging.confirming import ConfirmingRuns
from shrinkray_gpu.judging.policy import Policy
from shrinkray_gpu.judging.repetition import DOUBTS, FlakyTest, RunBatch, impossibility, measure
from shrinkray_gpu.judging.tiered_test import TieredTest
from shrinkray_gpu.judging.tightening import Tightening
from shrinkray_gpu.oracle import Answer, Verdict, parse
from shrinkray_gpu.oracle.statistics import Rate
from shrinkray_gpu.oracle.verdict import lacks, shows, unclear
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.runner.run import Compilation, Failure, Launch, Run
from tests.oracle.runs import BROKEN, JSD, MISALIGNED, failing, passing

SEEN = Rate(12, 40)
NEVER, NAMELESS = lacks("it ends well"), Verdict(Answer.PASSES, "NameError", certain=True)


class Drawn:
    """A candidate that faults with this rate, and the number of its runs."""

    def __init__(self, rate: float, seed: int = 0, at_once: int = 1) -> None:
        self.rate, self.chance, self.at_once, self.runs = rate, random.Random(seed), at_once, 0

    def __call__(self, useful: int) -> Sequence[Verdict]:
        count = min(useful, self.at_once)
        self.runs += count
        return [shows("misaligned") if self.chance.random() < self.rate else NEVER for _ in range(count)]


def given(*verdicts: Verdict) -> RunBatch:
    """These, and then the last one again and again."""
    left = list(verdicts)
    return lambda useful: [left.pop(0) if len(left) > 1 else left[0]]


def repeated(rate: Rate = SEEN, confidence: float = 0.95) -> FlakyTest:
    return FlakyTest(rate, MISALIGNED, confidence=confidence)


def test_a_program_that_never_faults_is_turned_down_after_so_many_clean_runs() -> None:
    candidate = Drawn(0)
    verdict = repeated().decide(candidate)
    assert verdict.answer is Answer.PASSES and verdict.provisional and not verdict.certain
    assert verdict.why == f"it ends well (0 of {candidate.runs} runs)"
    assert 0.7**candidate.runs < 0.05


def test_in_the_last_round_it_takes_more_and_stands() -> None:
    early, late = Drawn(0), Drawn(0)
    judge = repeated()
    judge.decide(early)
    verdict = judge.decide(late, last=True)
    assert late.runs > early.runs and 0.7**late.runs < 0.05 / 64
    assert verdict.answer is Answer.PASSES and not verdict.provisional


def test_an_error_of_the_text_needs_one_run() -> None:
    for verdicts in ([NAMELESS], [shows("x"), NAMELESS], [NEVER, shows("x"), shows("x"), NAMELESS]):
        verdict = repeated().decide(given(*verdicts))
        assert verdict.answer is Answer.PASSES and verdict.certain and not verdict.provisional


@pytest.mark.parametrize("at_once", [1, 2, 16])
def test_as_frail_as_the_original_is_accepted_and_less_than_half_of_it_is_not(at_once: int) -> None:
    judge = repeated(Rate(30, 100))
    good = [judge.confirm(Drawn(0.3, seed, at_once)) for seed in range(60)]
    bad = [judge.confirm(Drawn(0.15, seed, at_once)) for seed in range(60)]
    assert all(verdict.faults for verdict in good)
    assert not any(verdict.faults for verdict in bad), "with 97.5 % over all of them"
    assert "too rarely beside the original's 30 %" in next(v.why for v in bad if "seen" in v.why)


def test_a_step_is_taken_at_a_lower_price_and_errs_a_little_more() -> None:
    judge = repeated(Rate(30, 100))
    good, bad = ([Drawn(rate, seed) for seed in range(100)] for rate in (0.3, 0.15))
    assert sum(judge.decide(candidate).faults for candidate in good) >= 85
    assert sum(judge.decide(candidate).faults for candidate in bad) <= 10
    sure = [Drawn(0.3, seed) for seed in range(100)]
    assert all(judge.confirm(candidate).faults for candidate in sure)
    assert sum(c.runs for c in good) < 0.6 * sum(c.runs for c in sure)


def test_clean_runs_of_one_program_add_up() -> None:
    judge, first, again, third, other = repeated(), Drawn(0), Drawn(0), Drawn(0), Drawn(0)
    judge.decide(first, key="x")
    verdict = judge.decide(again, last=True, key="x")
    judge.decide(other, last=True, key="y")
    assert first.runs + again.runs == other.runs
    assert f"0 of {other.runs} runs" in verdict.why
    assert not judge.decide(third, last=True, key="x").faults and third.runs == 0, "as sure as it was asked to be"
    assert judge.decide(Drawn(1), key="z").faults and judge.decide(Drawn(1), key="z").faults


def test_a_sure_fault_is_soon_told() -> None:
    candidate = Drawn(1)
    assert repeated().decide(candidate).faults
    assert candidate.runs < 30


def test_runs_made_at_once_are_none_in_vain() -> None:
    asked: list[int] = []

    def ask(useful: int) -> Sequence[Verdict]:
        asked.append(useful if asked else 1)
        return [shows("x")] * asked[-1]

    verdict = repeated().decide(ask)
    assert verdict.faults and f"({sum(asked)} of {sum(asked)} runs)" in verdict.why


def test_the_more_confirmations_the_more_each_must_tell() -> None:
    judge, runs = repeated(), []
    for _ in range(200):
        candidate = Drawn(1)
        judge.confirm(candidate)
        runs.append(candidate.runs)
    assert runs == sorted(runs) and runs[-1] > runs[0]
    assert judge.confirmations == 200


def test_more_confidence_costs_more_runs() -> None:
    def price(confidence: float) -> int:
        candidate = Drawn(0)
        repeated(confidence=confidence).decide(candidate, last=True)
        return candidate.runs

    assert price(0.8) < price(0.95) < price(0.999)


def test_runs_that_tell_nothing_do_not_count() -> None:
    verdict = repeated().decide(given(unclear("beside others"), unclear("beside others"), NEVER))
    assert verdict.answer is Answer.PASSES and "(0 of" in verdict.why
    count = 0

    def ask(useful: int) -> Sequence[Verdict]:
        nonlocal count
        count += 1
        return [unclear("out of memory")]

    assert repeated().decide(ask).answer is Answer.UNKNOWN
    assert count == DOUBTS + 1


def test_a_cold_process_need_show_it_once() -> None:
    assert repeated().sighting(given(NEVER, NEVER, shows("x"), NEVER)).faults
    candidate = Drawn(0)
    assert repeated().sighting(candidate).answer is Answer.PASSES
    assert 0.7**candidate.runs < 0.025 / 64, "a no rolls back"


def test_what_it_costs_is_known_beforehand() -> None:
    judge = repeated(Rate(30, 100))
    yes, no = judge.price
    runs = [Drawn(0.3, seed) for seed in range(200)]
    for candidate in runs:
        repeated(Rate(30, 100)).decide(candidate)
    assert sum(candidate.runs for candidate in runs) / 200 == pytest.approx(yes, rel=0.15)
    assert no == 11
    assert judge.eager() == pytest.approx(yes / no)
    assert judge.eager(12) == pytest.approx(yes / no * (0.7 + 0.3 * 12))


@pytest.mark.parametrize("rate, confidence", [(Rate(0, 40), 0.95), (SEEN, 1.0), (SEEN, 0.0)])
def test_nonsense_is_refused(rate: Rate, confidence: float) -> None:
    with pytest.raises(ValueError):
        repeated(rate, confidence)


def test_measuring_goes_on_for_a_small_rate() -> None:
    often, seldom = measure(Drawn(0.9)), measure(Drawn(0.2))
    assert often.runs == 40
    assert seldom.sightings == 24 and seldom.runs > 60 or seldom.runs == 200
    assert measure(Drawn(0)) == Rate(0, 200)
    assert measure(given(unclear("gone"))).runs == 0


UNDEFINED = failing("NameError", "name 'x' is not defined", launches=(JSD,))
DIED_LATER = failing("RuntimeError", "CUDA error", driver_error=700, launches=(JSD,))


@pytest.mark.parametrize(
    "run, why",
    [
        (UNDEFINED, "NameError"),
        (failing("TypeError", "not callable"), "TypeError"),
        (failing("RuntimeError", "PassManager::run failed", compiles=(BROKEN,), launches=(JSD,)), "does not compile"),
        (passing(), "launches nothing"),
        (passing(launches=(JSD,)), ""),
        (failing("IndexError", "list index out of range", launches=(JSD,)), ""),
        (DIED_LATER, ""),
        (Run("fork", None, signal=11), ""),
        (Run("fork", None, timed_out=True), ""),
    ],
)
def test_what_chance_has_no_part_in(run: Run, why: str) -> None:
    said = impossibility(run, MISALIGNED)
    assert why in said and bool(why) == bool(said)


def test_a_flaky_error_of_that_very_kind_is_chance() -> None:
    assert impossibility(failing("TypeError", "None is not iterable"), passing())
    assert not impossibility(
        failing("TypeError", "None is not iterable"), failing("TypeError", "'NoneType' has no len()")
    )
    compiles = (Compilation("k", "", failure=Failure("RuntimeError", "PassManager::run failed")),)
    crash = failing("RuntimeError", "PassManager::run failed", compiles=compiles)
    assert not impossibility(crash, crash)
    assert not impossibility(passing(), failing("ValueError", "wrong"))
    assert Launch("k", "h", (1,)) not in crash.launches


# The test, with real lanes

DRAWS = "import os\nif os.urandom(1)[0] < {limit}:\n    raise RuntimeError('misaligned')\n"


@pytest.fixture(params=["fork", "cold"])
def flaky(tmp_path: Path, request: pytest.FixtureRequest) -> TieredTest:
    setup = Setup(sys.executable, dict(os.environ), (), (), str(tmp_path), confine=False)
    pool = Pool(Script(tmp_path / "x.py", cwd=tmp_path), setup, mode=request.param, jobs=2, seconds=20)
    repeats = FlakyTest(SEEN, failing("RuntimeError", "misaligned"))
    made = TieredTest(parse("misaligned", folder=tmp_path), pool, policy=Policy(repeats=repeats))
    request.addfinalizer(pool.close)
    request.addfinalizer(made.close)
    return made


def test_each_tier_that_runs_a_candidate_repeats(flaky: TieredTest) -> None:
    again = ConfirmingRuns(flaky)
    always, never, broken = (
        Program.from_text(text)
        for text in (DRAWS.format(limit=256), DRAWS.format(limit=0), "import os\nprint(undefined)\n")
    )
    tier = "cold" if flaky.pool.mode == "cold" else "lane"
    verdicts = flaky.judge([always, never, broken])
    assert [verdict.answer.value for verdict in verdicts] == ["faults", "does not fault", "does not fault"]
    assert [verdict.provisional for verdict in verdicts] == [False, True, False]
    assert verdicts[2].certain
    assert flaky.tries[tier] > 20
    before = flaky.tries["cold"]
    assert again.cold(always.text).faults
    assert flaky.tries["cold"] - before <= 2, "one sighting, and what ran beside it"
    assert again.confirm(always).result().faults
    if flaky.pool.mode != "cold":
        assert not again.confirm(never).result().faults
    flaky.insist(True)
    assert not flaky.judge([never])[0].provisional


def test_where_time_is_the_matter_only_cold_processes_confirm(flaky: TieredTest) -> None:
    always, before = Program.from_text(DRAWS.format(limit=256)), Counter(flaky.tries)
    again = ConfirmingRuns(flaky, timed=True)
    assert again.find_sighting(always).result().faults
    assert set(Counter(flaky.tries) - before) == {"cold"} and flaky.tries["cold"] <= 2, "one, and what ran beside it"
    assert again.confirm(always).result().faults
    assert set(Counter(flaky.tries) - before) == {"cold"} and flaky.tries["cold"] > 4


def test_the_check_has_the_last_word_on_a_yes(flaky: TieredTest) -> None:
    asked: list[tuple[str, Run]] = []

    def check(source: str, run: Run) -> Verdict | None:
        asked.append((source, run))
        return lacks("the control faults too") if "# slip" in source else None

    flaky.tighten(Tightening((check,)))
    text = DRAWS.format(limit=256)
    good, slip, never = flaky.judge([Program.from_text(x) for x in (text, text + "# slip\n", DRAWS.format(limit=0))])
    assert good.faults and slip.why == "the control faults too" and not never.faults
    assert sorted(source for source, _ in asked) == [text, text + "# slip\n"], "once a candidate, and for a yes only"
    assert all(run.failure is not None and run.failure.text == "misaligned" for _, run in asked)

"""Verdicts on credit: a host edit that leaves the launches as they were takes no run in a lane.

Here the lanes are on the virtual GPU as well, in another pool: the dry run goes before them as it does on a real one.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from shrinkray_gpu.judging.ahead import Ahead
from shrinkray_gpu.judging.confirming import ConfirmingRuns
from shrinkray_gpu.judging.policy import Policy
from shrinkray_gpu.judging.tally import COLD, CREDIT, DRY, LANE
from shrinkray_gpu.judging.tiered_test import TieredTest
from shrinkray_gpu.judging.tightening import Tightening
from shrinkray_gpu.oracle import Answer, Verdict, parse
from shrinkray_gpu.oracle.same import same_fault
from shrinkray_gpu.oracle.verdict import lacks, shows
from shrinkray_gpu.passes import PASSES
from shrinkray_gpu.reduction.engine import reduce_program
from shrinkray_gpu.reduction.journal import Journal
from shrinkray_gpu.reduction.outcome import Reduction
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.runner.request import Request
from shrinkray_gpu.runner.run import Run
from tests.reduction.course import parts

FAILING = """\
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < 8, other=0.0), mask=at < 8)
    tl.static_assert(BLOCK < 8, "too wide")


def reference(x):
    return x * 1


scale = 2
x = torch.ones(8, device="cuda")
y = torch.zeros(8, device="cuda")
kernel[(1,)](x, y, BLOCK=16)
"""
SAME = FAILING.replace("scale = 2\n", "").replace("def reference(x):\n    return x * 1\n\n\n", "")
WARPS = FAILING.replace("BLOCK=16)", "BLOCK=16, num_warps=2)")
CONTENT = FAILING.replace("torch.ones(8,", "torch.zeros(8,")
SHAPE = FAILING.replace("torch.zeros(8,", "torch.zeros(12,")
TWICE = FAILING + "kernel[(1,)](x, y, BLOCK=16)\n"
RENAMED = FAILING.replace("at = ", "here = ").replace("+ at", "+ here").replace("at < 8", "here < 8")
BROKEN = FAILING.replace("scale = 2", "scale = two")

Made = Callable[..., TieredTest]


@pytest.fixture(scope="module")
def pools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Pool, Pool]]:
    pytest.importorskip("triton")
    folder = tmp_path_factory.mktemp("credit")
    path = folder / "failing.py"
    path.write_text(FAILING)
    environment = {**os.environ, "TRITON_CACHE_DIR": str(folder / "cache")}
    own = (str(folder),)
    setup = Setup(sys.executable, environment, ("torch", "triton"), own, str(folder), arch=90, confine=False)
    lanes, dry = (Pool(Script(path, cwd=folder), setup, mode="virtual", jobs=2, seconds=60) for _ in range(2))
    yield lanes, dry
    lanes.close()
    dry.close()


@pytest.fixture
def judging(pools: tuple[Pool, Pool], tmp_path: Path) -> Iterator[Made]:
    made: list[TieredTest] = []

    def make(**options: bool) -> TieredTest:
        oracle, policy = parse("too wide", folder=tmp_path), Policy(**options)  # type: ignore[arg-type]
        made.append(TieredTest(oracle, pools[0], dry=pools[1], policy=policy))
        return made[-1]

    yield make
    for test in made:
        test.close()


def judged(test: TieredTest | Ahead, *texts: str) -> dict[str, int]:
    """The tries by tier after these programs, one after another."""
    for text in texts:
        test.judge([Program.from_text(text, "failing.py")])
    return dict((test.test if isinstance(test, Ahead) else test).tries)


def test_the_same_launches_take_no_second_run(judging: Made) -> None:
    test = judging()
    assert judged(test, FAILING) == {LANE: 1}
    (verdict,) = test.judge([Program.from_text(SAME, "failing.py")])
    assert verdict.faults and verdict.credit and test.tries == {LANE: 1, CREDIT: 1}


def test_a_yes_of_a_used_context_is_asked_again_once_such_were_wrong(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    harmless = "import torch\ntorch.used = True\n"
    faults = "import torch\nif hasattr(torch, 'used'):\n    raise RuntimeError('the fault')\nprint({})\n"
    always = "raise RuntimeError('the fault')\n"
    path = tmp_path / "failing.py"
    path.write_text(harmless)
    setup = Setup(sys.executable, dict(os.environ), ("torch",), (), str(tmp_path), reuse=True, confine=False)
    pool = Pool(Script(path, cwd=tmp_path), setup, mode="fork", jobs=1, seconds=60)
    test = TieredTest(parse("the fault", folder=tmp_path), pool)

    def asked(text: str) -> Verdict:
        assert test.judge([Program.from_text(harmless)])[0].answer is Answer.PASSES
        return test.judge([Program.from_text(text)])[0]

    try:
        assert asked(faults.format(1)).faults
        test.doubt_reused_contexts()
        no = asked(faults.format(2))
        assert no.answer is Answer.PASSES and not no.provisional, "a fresh context said so"
        assert asked(always).faults
        assert test.tries == {LANE: 3 + 3 + 2}, "one more for each yes that is asked again"
    finally:
        test.close()
        pool.close()


@pytest.mark.parametrize("other", [WARPS, CONTENT, SHAPE], ids=["options", "content", "shape"])
def test_other_launches_do(judging: Made, other: str) -> None:
    runs = other.replace("BLOCK < 8", "BLOCK < 64")  # compiles, so that the launch itself is what counts
    assert judged(judging(), FAILING.replace("BLOCK < 8", "BLOCK < 64"), runs) == {LANE: 2}


def test_a_launch_more_is_another_program(judging: Made) -> None:
    compiles = [text.replace("BLOCK < 8", "BLOCK < 64") for text in (FAILING, TWICE)]
    assert judged(judging(), *compiles) == {LANE: 2}


def test_launches_tell_nothing_of_what_the_host_raises(pools: tuple[Pool, Pool], tmp_path: Path) -> None:
    """`if not torch.allclose(...): raise`, left out or made to hold, leaves the launches as they are."""
    lanes, dry = pools
    checks = FAILING.replace("BLOCK=16", "BLOCK=4") + 'if scale == 2:\n    raise RuntimeError("wrong")\n'
    same = checks.replace("def reference(x):\n    return x * 1\n\n\n", "")
    oracle = same_fault(parse("exception:RuntimeError", folder=tmp_path)).calibrate(lanes.run(checks))
    test = TieredTest(oracle, lanes, dry=dry)
    assert judged(test, checks, same) == {LANE: 2}
    test.close()


def test_names_in_the_kernel_are_no_other_kernel(judging: Made) -> None:
    compiles = [text.replace("BLOCK < 8", "BLOCK < 64") for text in (FAILING, RENAMED)]
    assert judged(judging(), *compiles) == {LANE: 1, CREDIT: 1}


def test_what_never_gets_to_its_launch_ends_in_the_dry_run(judging: Made) -> None:
    test = judging()
    assert judged(test, FAILING, BROKEN) == {LANE: 1, DRY: 1}
    assert test.tally.host_errors == 0


def test_what_a_check_will_need_is_begun_by_the_dry_run_of_what_goes_on_to_a_lane(judging: Made) -> None:
    """Its kernels are the very ones that the lane will run, unless it is taken on credit or ends there."""
    compiles = FAILING.replace("BLOCK < 8", "BLOCK < 64")
    for options in ({}, {"credit": False}):
        test = judging(**options)
        begun: list[Run] = []
        test.tighten(Tightening(begin=begun.append))
        tries = judged(test, compiles, BROKEN, compiles.replace("scale = 2\n", ""))
        assert len(begun) == tries[LANE] == 2 - tries.get(CREDIT, 0)
        shown = test.pool.run(compiles)
        assert [one.hash for one in begun[0].compiles] == [one.hash for one in shown.compiles] != []


def test_a_dry_run_that_died_tells_of_no_launches(judging: Made) -> None:
    """Its processes may die of what the real GPU's do not, and two dead ones are not alike."""
    dies = "import os\nos.kill(os.getpid(), 11)\n"
    test = judging()
    assert judged(test, dies, dies + "pass\n") == {LANE: 2}
    assert test.tally.mute == {"signal 11": 2}


def test_where_lanes_are_scarce_only_dry_runs_are_made_ahead(judging: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    test = judging(credit=False)
    ahead = Ahead(test, scarce=True, at_once=2)
    assert test.dry is not None
    programs = [Program.from_text(f"{FAILING}x{number} = 0\n", "failing.py") for number in range(3)]
    broken = Program.from_text(BROKEN, "failing.py")
    real, dried = test.dry.pool.run, []
    monkeypatch.setattr(
        test.dry.pool, "run", lambda request, **how: dried.append(request.source) or real(request, **how)
    )
    ahead.foresee([*programs[1:], broken])
    ahead.judge([programs[0]])
    assert test.tries == {LANE: 1} and 0 < test.tally.ahead <= 3
    ahead.judge([programs[2], broken])
    assert test.tries == {LANE: 2, DRY: 1}
    assert test.tally.foreseen == test.tally.ahead - 1, "one of them was not asked for"
    assert sorted(dried) == sorted({*dried}), "what was made ahead is not made again"


CHANGES: dict[str, Callable[[TieredTest], None]] = {
    "no credit": TieredTest.forget,
    "used contexts": TieredTest.doubt_reused_contexts,
    "brief lanes": TieredTest.doubt_brief,
    "last round": lambda test: test.insist(True),
    "a check more": lambda test: test.tighten(Tightening((lambda text, run: lacks("another fault"),))),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_what_was_begun_before_the_test_changed_is_not_taken_for_an_answer(
    judging: Made, change: Callable[[TieredTest], None]
) -> None:
    """It may change while a call is under way: a cold run beside the search shows a brief lane to be wrong."""
    test = judging()
    ahead = Ahead(test, at_once=2)
    first, next_ = (Program.from_text(f"{FAILING}x{number} = 0\n", "failing.py") for number in range(2))
    ahead.foresee([next_])
    ahead.judge([first])
    assert test.tally.ahead == 1
    change(test)
    ahead.judge([next_])
    assert test.tally.foreseen == 0


def test_dry_runs_that_only_wait_are_given_up(
    pools: tuple[Pool, Pool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lanes, dry = pools[0].beside(2), pools[1].on(replace(pools[1].terms, seconds=1.5))
    test = TieredTest(parse("too wide", folder=tmp_path), lanes, dry=dry)
    waits = "import time\ntime.sleep(9)\nx = {}\n"
    real, asked = lanes.run, []

    def run(request: Request, **options: bool) -> Run:
        """A lane in which nothing waits."""
        asked.append(request.source)
        return real(request.source.replace("time.sleep(9)", "pass"), **options)

    monkeypatch.setattr(lanes, "run", run)
    assert judged(test, *map(waits.format, range(4))) == {LANE: 4} and len(asked) == 4
    assert test.dry is not None and test.dry.given_up
    assert test.tally.mute == {"time limit": 3}
    test.close()


def test_switched_off_or_forgotten_each_takes_its_own_run(judging: Made) -> None:
    assert judged(judging(credit=False), FAILING, SAME) == {LANE: 2}
    test = judging()
    judged(test, FAILING)
    test.forget()  # the fault depends on time or on what ran before: see `ActiveControls.history`
    assert judged(test, SAME) == {LANE: 2}


def test_most_steps_of_a_reduction_take_no_lane_and_a_wrong_one_is_taken_back(
    judging: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The passes that only touch the host take everything on credit; and what cold runs refute is not in the result."""
    test = judging()
    honest = reduced(test, tmp_path / "honest", cold=ConfirmingRuns(test).confirm, interval=1)
    assert honest.cost.credited > honest.cost.accepted / 2 and honest.checks.rollbacks == 0
    assert test.tally.host_errors == 0 and test.tries[LANE] < honest.cost.tries

    # Without `reference` the fault is gone where it counts, and no launch tells.
    suspicious = judging()
    monkeypatch.setattr(suspicious.cold, "settle", lambda candidate: needing_reference(suspicious, candidate.text))
    wary = reduced(suspicious, tmp_path / "wary", cold=ConfirmingRuns(suspicious).confirm, interval=1)
    assert "def reference" in wary.program.text and wary.checks.rollbacks
    assert wary.program.size.tokens < Program.from_text(FAILING, "failing.py").size.tokens


def test_a_fault_that_became_rare_is_no_longer_the_same(tmp_path: Path) -> None:
    """In each second process only: the everyday test's one run may be a lucky one."""
    path, count = tmp_path / "x.py", tmp_path / "count"
    always = "raise OSError('too wide')\n"
    rare = f"open({str(count)!r}, 'a').write('.')\nif len(open({str(count)!r}).read()) % 2:\n    {always}"
    setup = Setup(sys.executable, dict(os.environ), (), (str(tmp_path),), str(tmp_path), confine=False)
    pool = Pool(Script(path, cwd=tmp_path), setup, mode="fork", jobs=1, seconds=60)
    test = TieredTest(parse("too wide", folder=tmp_path), pool)
    try:
        programs = [Program.from_text(text, "x.py") for text in (rare, always)]
        assert test.judge([programs[0]])[0].faults
        assert [ConfirmingRuns(test).steady(each).result().faults for each in programs] == [False, True]
        assert test.tries == {LANE: 4, COLD: 1}, "one that does not show it ends the question"
    finally:
        test.close()
        pool.close()


def needing_reference(test: TieredTest, source: str) -> Verdict:
    """What a cold process says where the fault needs `reference`, though no launch shows it."""
    test.tally.count(COLD)
    return shows("it faults") if "def reference" in source else lacks("it ends well")


def reduced(test: TieredTest, folder: Path, **options: object) -> Reduction:
    program = Program.from_text(FAILING, "failing.py")
    assert test.judge([program])[0].faults
    with Journal.open(folder, original=program, seed=0, width=4, settings={}) as journal:
        passes = [each for each in PASSES if each.name in ("definitions", "statements", "constants")]
        return reduce_program(program, passes=passes, journal=journal, **parts(width=4, judge=test.judge, **options))


HOLDING = (
    "import sys\nsys.modules['shrinkray_inside.process.device'].peak_bytes = lambda: {} << 30\n"
    "raise RuntimeError('too wide')\n"
)


@pytest.mark.parametrize("mode", ["fork", "cold"])
def test_a_candidate_that_needs_far_more_memory_than_the_original_is_none(tmp_path: Path, mode: str) -> None:
    """What torch would say of the device's memory is made up."""
    setup = Setup(sys.executable, dict(os.environ), (), (str(tmp_path),), str(tmp_path), confine=False)
    pool = Pool(Script(tmp_path / "holding.py", cwd=tmp_path), setup, mode=mode, jobs=1, seconds=30)
    try:
        pool.run(HOLDING.format(2))
        test = TieredTest(parse("too wide", folder=tmp_path), pool, policy=Policy(peak=pool.peak))
        told = [test.settle(test.candidate(HOLDING.format(size))) for size in (1, 4, 16)]
        assert told[0].faults and told[1].faults
        assert told[2] == lacks("it holds 17.2 GB of device memory, far more than the original")
        test.close()
    finally:
        pool.close()


def test_values_are_watched_where_no_context_is_taken(pools: tuple[Pool, Pool], judging: Made) -> None:
    """Only where the virtual GPU shows the fault: elsewhere a value may be one that a kernel wrote."""
    watched = Program.from_text("x = __shrink_saw__(0, 7)\n", "failing.py")
    for predicts in (True, False):
        test, before = judging(predicts=predicts), [pool.retired.total() for pool in pools]
        assert test.values(watched) == {0: "7"}
        assert [pool.retired.total() - was for pool, was in zip(pools, before)] == [not predicts, predicts]

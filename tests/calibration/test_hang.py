"""Before the search for a hang: what its runs cost, and how many of them there are. A stand-in for the driver alone."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from shrinkray_gpu.calibration import IMPORTS, Limits, Plan, in_lanes, make, standing
from shrinkray_gpu.device import gpus
from shrinkray_gpu.judging.confirming import ConfirmingRuns
from shrinkray_gpu.judging.policy import Policy
from shrinkray_gpu.judging.tiered_test import TieredTest
from shrinkray_gpu.oracle import parse
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script
from tests.runner.test_hang import LAUNCHED, WAITS, driver

__all__ = ["driver"]
SPINS = LAUNCHED + WAITS


@pytest.fixture(scope="module", params=[None, "cold"], ids=["lanes", "cold"])
def plan(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, driver: str) -> Iterator[Plan]:
    """Of a kernel that spins."""
    folder = tmp_path_factory.mktemp("plan")
    environment = {**os.environ, "LD_LIBRARY_PATH": driver, "GPU_HANGS": "1"}
    setup = Setup(sys.executable, environment, (), (str(folder),), str(folder), confine=False)
    script, oracle = Script(folder / "spins.py", cwd=folder, tell=True), parse("hang:0.5", folder=folder)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(gpus, "present", lambda: False)
        made = make(SPINS, script, setup, oracle=oracle, limits=Limits(3, mode=request.param))
    yield made
    made.close()


def test_a_cold_run_does_not_wait_out_the_time_for_imports(plan: Plan) -> None:
    assert (plan.reference.hanging, plan.reference.timed_out) == ("device", True)
    assert plan.seen.cold_seconds < IMPORTS
    assert (plan.pool.jobs, plan.seen.faulted) == (1, plan.seen.runs)


def test_a_lane_that_most_likely_hangs_is_not_waited_for(tmp_path: Path, driver: str) -> None:
    """Until one is found that ends after all."""
    environment = {**os.environ, "LD_LIBRARY_PATH": driver}
    setup = Setup(sys.executable, environment, (), (str(tmp_path),), str(tmp_path), confine=False)
    script, oracle = Script(tmp_path / "spins.py", cwd=tmp_path, tell=True), parse("hang:6", folder=tmp_path)
    spins, slow = (f"import os\nos.environ['{how}'] = '1'\n{SPINS}" for how in ("GPU_HANGS", "GPU_BUSY"))
    pool = Pool(script, setup, mode="fork", jobs=2, seconds=6)
    try:
        test = TieredTest(oracle.calibrate(pool.run(spins)), pool, policy=Policy(brief=0.5))
        again = ConfirmingRuns(test)
        verdicts = [test.settle(test.candidate(spins)), test.settle(test.candidate(slow))]
        assert [verdict.faults for verdict in verdicts] == [True, True]
        assert all("maybe for ever" in verdict.why for verdict in verdicts)
        assert again.probe(Program.from_text(spins)).result().faults and test.policy.brief
        assert not again.probe(Program.from_text(slow)).result().faults and not test.policy.brief
        assert not test.settle(test.candidate(slow)).faults
        test.close()
    finally:
        pool.close()


def seen_once(plan: Plan) -> Plan:
    """The same on a GPU, after one cold run."""
    return replace(plan, gpu=True, seen=replace(plan.seen, faulted=1, runs=1))


def test_on_a_gpu_lanes_show_how_often_it_hangs(plan: Plan) -> None:
    if plan.mode.name == "cold":
        more = in_lanes._as_often(replace(plan, gpu=True), SPINS)
        assert (more.seen.faulted, more.seen.runs) == (3, 3), "as there are no lanes"
    else:
        assert plan.seen.runs == 2, "one cold, one in a lane"
        more = standing.in_a_fork(seen_once(plan), plan.pool, SPINS, touched=False)
        assert (more.seen.faulted, more.seen.runs) == (4, 4)
    assert plan.pool.jobs == 1


def test_one_that_hangs_in_a_first_lane_only_is_flaky(plan: Plan, tmp_path: Path) -> None:
    if plan.mode.name == "cold":
        pytest.skip("no lanes")
    once = f"import os\nif not os.path.exists({str(tmp_path / 'ran')!r}):\n    open({str(tmp_path / 'ran')!r}, 'w')\n"
    at_first = once + "".join(f"    {line}\n" for line in SPINS.splitlines())
    seen = seen_once(plan)
    with pytest.raises(standing.ModeRejected) as told:
        standing.in_a_fork(seen, plan.pool, at_first, touched=False)
    assert told.value.flaky

"""What is settled before anything runs: who may not run here at all."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from shrinkray_gpu.calibration import Limits, Plan, fence_parts, make, open_lanes, standing, with_perturbation
from shrinkray_gpu.calibration.dry_runs import with_dry
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.oracle import parse
from shrinkray_gpu.oracle.needs import UNASKED
from shrinkray_gpu.oracle.statistics import Rate
from shrinkray_gpu.runner.inside.process import landlock
from shrinkray_gpu.runner.interpreter import check_python
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script
from tests.chance import EVEN


def test_an_interpreter_must_be_one() -> None:
    with pytest.raises(UsageError, match="not a Python interpreter"):
        check_python("/bin/echo")


def planned(
    folder: Path,
    text: str,
    spec: str,
    timeout: float | None = None,
    *,
    lanes_first: bool = False,
    confine: bool = False,
) -> Plan:
    path = folder / "failing.py"
    path.write_text(text)
    setup = Setup(sys.executable, dict(os.environ), (), (str(folder),), str(folder), confine=confine)
    script, oracle = Script(path, cwd=folder, original=text), parse(spec, folder=folder)
    limits = Limits(3, timeout)
    lanes = open_lanes(text, script, setup, oracle=None, limits=limits) if lanes_first else None
    return make(text, script, setup, oracle=oracle, limits=limits, lanes=lanes)


@pytest.mark.parametrize("lanes_first", [False, True])
def test_where_time_is_the_question_nothing_runs_beside_it(tmp_path: Path, lanes_first: bool) -> None:
    """Also in lanes that came up before it was known what the question is."""
    plan = planned(tmp_path, "import time\ntime.sleep(100)\n", "timeout", timeout=1.0, lanes_first=lanes_first)
    try:
        assert (plan.pool.jobs, plan.pool.seconds) == (1, 1)
        assert plan.rate is None and plan.mode.name == "fork"
    finally:
        plan.close()


def test_a_fault_that_always_shows_has_no_rate_to_measure(tmp_path: Path) -> None:
    plan = planned(tmp_path, "[][7]\n", "exception:IndexError")
    try:
        assert (plan.rate, plan.seen.faulted, plan.seen.runs, plan.pool.jobs) == (None, 1, 1, 3)
    finally:
        plan.close()


def test_candidates_are_held_against_the_rules_of_the_adopted_fault_and_no_others(tmp_path: Path) -> None:
    """A kernel whose cast mends it may still read beyond its tensor: that is another defect, and no reason."""
    setup = Setup(sys.executable, dict(os.environ), (), (str(tmp_path),), str(tmp_path), confine=False)
    script = UNASKED.on(Script(tmp_path / "failing.py", cwd=tmp_path), virtual=True)
    oracle = parse("exception:IndexError", folder=tmp_path)
    plan = make("[][7]\n", script, setup, oracle=lambda run: oracle, limits=Limits(1))
    try:
        assert "static:bounds" in script.wants and plan.pool.script.wants == ()
    finally:
        plan.close()


@pytest.mark.parametrize("chance", [0.4, 0.8])
def test_the_rate_of_a_flaky_fault_is_measured_where_candidates_run(tmp_path: Path, draws: Path, chance: float) -> None:
    text = EVEN.format(draws=str(draws)) + f"if LUCK < {chance}:\n    [][7]\n"
    plan = planned(tmp_path, text, "exception:IndexError")
    try:
        assert plan.rate is not None and plan.rate.runs >= 40
        assert abs(plan.rate.estimate - chance) < 0.05
        assert any(note == f"flaky: {plan.rate} fault" for note in plan.mode.notes)
        assert with_perturbation(plan, text) is plan, "nothing to perturb: no torch"
    finally:
        plan.close()


def test_a_full_disk_is_no_other_fault_of_the_program(tmp_path: Path) -> None:
    text = "import errno, os\nraise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))\n"
    with pytest.raises(OSError, match="No space left on device, as the program said"):
        planned(tmp_path, text, "misaligned address").close()


def test_a_lane_that_hangs_is_not_waited_for_as_long_as_an_unknown_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It faulted within a second in a cold process: 300 s in a lane, six times, would be half an hour."""
    monkeypatch.setattr(standing, "LANE", 1.0)
    monkeypatch.setattr("shrinkray_gpu.runner.inside.process.wire.WHOLE", 1.0)
    text = "import time\nif '--cold' not in open('/proc/self/cmdline').read():\n    time.sleep(1000)\n[][7]\n"
    began = time.monotonic()
    plan = planned(tmp_path, text, "exception:IndexError")
    try:
        assert plan.mode.name == "cold" and "still running" in plan.mode.why, plan.mode
        assert time.monotonic() - began < 60
    finally:
        plan.close()


WAITING = """
import socket, time
while True:
    try:
        socket.create_server(("127.0.0.1", 0)).close()
        break
    except OSError:
        time.sleep(0.1)
[][7]
"""
"""As ranks do that look for each other."""


@pytest.mark.skipif(landlock.level() < 4, reason="this kernel refuses no TCP")
def test_what_waits_for_ever_in_the_fence_is_known_soon_for_one_that_needs_a_part_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(standing, "LANE", 3.0)
    monkeypatch.setattr(fence_parts, "SOON", 5.0)
    began = time.monotonic()
    plan = planned(tmp_path, WAITING, "exception:IndexError", confine=True)
    try:
        assert plan.pool.setup.left_open == (landlock.TCP,)
        assert plan.mode.name == "fork", plan.mode
        assert time.monotonic() - began < 60
    finally:
        plan.close()


def test_workers_import_what_a_script_does_or_they_do_not(tmp_path: Path) -> None:
    setup = Setup(sys.executable, dict(os.environ), (), (str(tmp_path),), str(tmp_path), confine=False)
    script = Script(tmp_path / "failing.py", cwd=tmp_path)
    head = "import json.decoder\nimport click\n"
    lanes = open_lanes(head, script, setup, oracle=None, limits=Limits(1, mode="cold"))
    try:
        assert lanes.import_for("import math\nimport click\n") and lanes.import_for("import triton\n")
        assert not lanes.import_for("import click.testing\n")
    finally:
        lanes.close()


@pytest.mark.parametrize(("seconds", "want"), [(30, True), (0, False)])
def test_a_dry_run_that_takes_much_longer_than_a_lane_is_not_made(tmp_path: Path, seconds: int, want: bool) -> None:
    """Two gigabytes of random numbers are drawn on a GPU in no time, and on the virtual one in 14 s."""
    source = f"import time\ntime.sleep({seconds})\n[][7]\n"
    plan = planned(tmp_path, "[][7]\n", "exception:IndexError")
    dry = Pool(plan.pool.script, plan.pool.setup, mode="virtual", jobs=1, seconds=60)
    try:
        found = with_dry(plan, dry, source)
        slow = [note for note in found.mode.notes if "without a GPU the original takes over 3 s" in note]
        assert (found.dry is None, bool(slow)) == (True, want), found.mode.notes
    finally:
        dry.close()
        plan.close()


BEYOND = """\
import pathlib, torch, triton, triton.language as tl


@triton.jit
def kernel(x, far):
    tl.store(x + far, 1.0)


lot = pathlib.Path("lot")
lot.write_text((lot.read_text() if lot.exists() else "") + "x")
kernel[(1,)](torch.zeros(4, device="cuda"), 1 << 30 if {when} else 0)
torch.cuda.synchronize()
"""


@pytest.mark.parametrize(("when", "want"), [("True", True), ("len(lot.read_text()) % 3", False)])
def test_of_a_flaky_fault_dry_runs_exclude_candidates_where_the_virtual_gpu_always_shows_it(
    tmp_path: Path, when: str, want: bool
) -> None:
    """A device may forgive what the kernel's IR never does. What the program itself draws, a dry run draws as well."""
    source = BEYOND.format(when=when)
    (tmp_path / "failing.py").write_text(source)
    setup = Setup(sys.executable, dict(os.environ), (), (str(tmp_path),), str(tmp_path), arch=90, confine=False)
    script, oracle = Script(tmp_path / "failing.py", cwd=tmp_path), parse("static:bounds", folder=tmp_path)
    plan = make(BEYOND.format(when="True"), script, setup, oracle=oracle, limits=Limits(1))
    flaky = plan.in_mode(replace(plan.mode, rate=Rate(3, 10)))
    dry = Pool(plan.pool.script, setup, mode="virtual", jobs=1, seconds=60)
    (tmp_path / "lot").unlink()
    try:
        found = with_dry(flaky, dry, source)
        assert found.mode.dry is not None and not found.mode.dry.predicts
        assert found.mode.dry.excludes == want, found.mode.notes
    finally:
        dry.close()
        plan.close()


LOAD = """\
import torch, triton, triton.language as tl
@triton.jit
def kernel(x):
    tl.store(x, tl.load(x + tl.program_id(0)))
kernel[({grid},)](torch.rand(4, device="cuda"))
torch.cuda.synchronize()
"""


@pytest.mark.parametrize(("compared", "grid", "want"), [("held", 4, True), ("held", 5, False), ("", 4, False)])
def test_dry_runs_follow_launches_where_results_are_compared_and_the_original_stays_inside(
    tmp_path: Path, compared: str, grid: int, want: bool
) -> None:
    plan = planned(tmp_path, "[][7]\n", "exception:IndexError")
    oracle = replace(plan.oracle, needs=replace(plan.oracle.needs, compared=compared))
    setup = Setup(sys.executable, dict(os.environ), (), (str(tmp_path),), str(tmp_path), arch=90, confine=False)
    dry = Pool(plan.pool.script, setup, mode="virtual", jobs=1, seconds=60)
    try:
        found = with_dry(replace(plan, seen=replace(plan.seen, oracle=oracle)), dry, LOAD.format(grid=grid))
        assert found.dry is not None and ("static:bounds" in found.dry.script.wants) is want, found.mode.notes
    finally:
        dry.close()
        plan.close()

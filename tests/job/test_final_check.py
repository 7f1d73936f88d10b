"""Which accepted program is the result where the smallest does not stand in clean runs."""

from __future__ import annotations

import os
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from shrinkray_gpu.calibration import Limits, make
from shrinkray_gpu.job.conclusion import final_check_error
from shrinkray_gpu.job.final_check import CleanRuns, FinalCheck, _last_standing, _sound, clean_runs, final_check
from shrinkray_gpu.options import Options
from shrinkray_gpu.oracle import parse
from shrinkray_gpu.oracle.statistics import Rate
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.runner.pool import Script
from shrinkray_gpu.runner.private_setup import private_setup

LINE = tuple(Program.from_text(f"x = {at}\n", "failing.py") for at in range(12))


def chosen(
    rates: dict[int, tuple[int, ...]], *, confirmed: int = 0, mute: frozenset[int] = frozenset()
) -> tuple[int | None, Counter[int]]:
    """`rates`: of three clean runs, how many show the fault each time that program is asked; the last one from then
    on. Programs that are not named always show it. Of those in `mute` no run tells anything."""
    asked: Counter[int] = Counter()

    def check(program: Program) -> FinalCheck:
        at = LINE.index(program)
        asked[at] += 1
        if at in mute:
            return FinalCheck(program.text, 0, 0, False, unknown=3)
        told = rates.get(at, (3,))
        verified = told[min(asked[at], len(told)) - 1]
        return FinalCheck(program.text, verified, 3, verified == 3)

    found = _last_standing(LINE, check, LINE[confirmed])
    return (None if found is None else LINE.index(Program.from_text(found.text, "failing.py"))), asked


def test_the_step_that_lost_it_is_found_by_bisection() -> None:
    at, asked = chosen({at: (0,) for at in range(7, 12)})
    assert at == 6 and asked.total() <= 6


def test_one_that_stood_by_chance_is_not_the_result() -> None:
    """As memory far away is mapped in some processes only: 8 shows it in three runs of three, and then in two."""
    at, _ = chosen({at: (0,) for at in range(9, 12)} | {7: (3, 2), 8: (3, 2)})
    assert at == 6


def test_where_none_stands_the_first_says_so() -> None:
    at, _ = chosen({at: (1,) for at in range(12)})
    assert at == 0


def test_under_load_the_last_that_stood_is_taken_and_not_the_first() -> None:
    """All are too slow to tell anything; a cold process had confirmed 9."""
    at, _ = chosen({}, confirmed=9, mute=frozenset(range(12)))
    assert at == 9


def test_what_was_confirmed_and_falls_all_the_same_is_no_bound() -> None:
    at, _ = chosen({at: (0,) for at in range(5, 12)}, confirmed=9)
    assert at == 4


def test_runs_that_tell_nothing_do_not_speak_against_it() -> None:
    assert _sound(2, 2, None) and not _sound(1, 2, None)
    assert not _sound(0, 0, None), "nobody knows"


def looked(folder: Path, text: str, *, timeout: float, instead: str = "", runs: int = 1) -> CleanRuns:
    """Clean runs of a text that is asked whether it dies of an IndexError, or `instead` of something else."""
    asked = parse("exception:IndexError", folder=folder)
    setup = private_setup(folder / "work", dict(os.environ), python=sys.executable, imports=(), own=())
    script, limits = Script(folder / "failing.py", cwd=folder), Limits(1, timeout=60)
    plan = make("[][0]\n", script, setup, oracle=asked, limits=limits)
    try:
        quick = plan.in_mode(replace(plan.mode, terms=replace(plan.mode.terms, seconds=timeout, extra=0.0)))
        if instead:
            quick = replace(quick, seen=replace(quick.seen, oracle=parse(instead, folder=folder)))
        return clean_runs(text, folder / "repro.py", quick, Options(timeout=timeout), runs)
    finally:
        plan.close()


SLOW = """\
import os, time
if not os.path.exists({turn!r}):
    os.mkdir({turn!r})
    {does}
[][0]
"""


@pytest.mark.parametrize("does", ["time.sleep(60)", "os.kill(os.getpid(), 9)"])
def test_a_clean_run_that_was_slow_or_killed_is_asked_again(tmp_path: Path, does: str) -> None:
    turn = str(tmp_path / "work" / "scratch" / "turn")
    runs = looked(tmp_path, SLOW.format(turn=turn, does=does), timeout=5)
    assert (runs.verified, runs.unknown) == (1, 0)


def test_one_that_is_always_too_slow_is_unknown(tmp_path: Path) -> None:
    runs = looked(tmp_path, "import time\ntime.sleep(60)\n[][0]\n", timeout=1)
    assert (runs.verified, runs.unknown) == (0, 1) and "stopped after 4 s" in runs.instead


def test_one_that_is_slow_once_in_both_ways_has_more_time_the_second_time(tmp_path: Path) -> None:
    runs = looked(tmp_path, "import time\ntime.sleep(3)\n[][0]\n", timeout=2)
    assert (runs.verified, runs.unknown) == (1, 0)


def test_one_that_ends_well_is_told_at_once(tmp_path: Path) -> None:
    runs = looked(tmp_path, "print(7)\n", timeout=60)
    assert (runs.verified, runs.unknown) == (0, 0)


OUTSIDE = """\
import os
try:
    os.mkdir({turn!r})
    ending = "an illegal memory access was encountered"
except FileExistsError:
    ending = {ending!r}
raise RuntimeError("CUDA error: " + ending)
"""


@pytest.mark.parametrize(
    ("ending", "verified", "error"),
    [("operation not supported on global/shared address space", 3, 717), ("misaligned address", 1, 700)],
)
def test_one_access_may_end_in_either_of_two_errors_but_not_in_any(
    tmp_path: Path, ending: str, verified: int, error: int
) -> None:
    """As on an H200: of three clean runs one ended in 700, and two in 717. The error told is that of most of them."""
    asked = "an illegal memory access was encountered"
    text = OUTSIDE.format(turn=str(tmp_path / "work" / "scratch" / "turn"), ending=ending)
    runs = looked(tmp_path, text, timeout=60, instead=asked, runs=3)
    assert (runs.verified, runs.error) == (verified, error)
    assert (ending in runs.other_error) == (verified == 3)
    assert (ending in runs.instead) == (verified == 1)


def test_what_never_shows_the_error_asked_for_does_not_stand(tmp_path: Path) -> None:
    text = 'raise RuntimeError("CUDA error: operation not supported on global/shared address space")\n'
    runs = looked(tmp_path, text, timeout=60, instead="an illegal memory access was encountered", runs=2)
    assert (runs.verified, runs.other_error) == (0, "")


def test_what_nobody_knows_after_ctrl_c_is_no_failure_and_says_how_to_go_on() -> None:
    unknown = FinalCheck("x", 0, 0, False, unknown=1, instead="it was stopped after 63 s")
    stopped, done = (final_check_error(unknown, Path("r.py"), Path("x.shrink"), stopped=one) for one in (True, False))
    assert (stopped.exit_code, done.exit_code) == (130, 4)
    assert "--resume" in str(stopped) and "--timeout" in str(stopped) and "after 63 s" in str(stopped)
    failed = replace(unknown, runs=1, unknown=0)
    assert final_check_error(failed, Path("r.py"), Path("x.shrink"), stopped=True).exit_code == 4


@pytest.mark.parametrize(
    "arch, runs, text, rate, made",
    [
        (90, None, "x = 1\n", None, 0),
        (90, 2, "x = 1\n", None, 2),  # more were asked for
        (90, None, "x  =  1\n", None, 1),  # the same code, but not the text that ran
        (90, None, "x = 1\n", Rate(9, 10), 20),
        (None, None, "x = 1\n", None, 3),  # a user's own command is another kind of run
    ],
)
def test_what_a_cold_run_of_the_search_showed_is_not_run_again(
    arch: int | None, runs: int | None, text: str, rate: Rate | None, made: int, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    asked = list[int]()

    def clean(text: str, output: Path, plan: Any, options: Options, runs: int) -> CleanRuns:
        asked.append(runs)
        output.write_text(text)
        return CleanRuns(runs)

    monkeypatch.setattr("shrinkray_gpu.job.final_check.clean_runs", clean)
    plan = cast(Any, SimpleNamespace(rate=rate, gpu=arch is None))
    shown = Program.from_text("x = 1\n", "repro.py")
    found = final_check(text, tmp_path / "repro.py", plan, Options(arch=arch, final_runs=runs), shown)
    assert sum(asked) == made and found.stands and found.verified == max(1, made)
    assert (tmp_path / "repro.py").read_text() == text

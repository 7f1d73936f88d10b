"""exception:, exit:, signal: and timeout, and how oracles combine."""

from __future__ import annotations

import signal
from dataclasses import replace
from pathlib import Path

import pytest

from shrinkray_gpu.oracle import Answer, Oracle, all_of, parse
from shrinkray_gpu.oracle.same import same_fault
from shrinkray_gpu.runner.run import Run
from tests.oracle.runs import MISALIGNED, OUT_OF_MEMORY, RUNTIME, check_answer, failing, passing, plain, traceback

YES, NO, UNKNOWN = Answer.FAULTS, Answer.PASSES, Answer.UNKNOWN
MINE = ("ValueError", *RUNTIME)
HUNG = Run("fork", None, timed_out=True, seconds=9.0)
ABORTED = Run("fork", None, 6)

CASES = {
    "the type": ("exception:ValueError", failing("ValueError", "x"), YES),
    "another type": ("exception:ValueError", failing("TypeError", "x"), NO),
    "a derived type": ("exception:ValueError", failing("pkg.ShapeError", "x", MINE), YES),
    "the base of a derived type is not the type": ("exception:ShapeError", failing("ValueError", "x"), NO),
    "a longer name is another type": ("exception:Error", failing("ValueError", "x"), NO),
    "with and without its module": ("exception:torch.AcceleratorError", MISALIGNED, YES),
    "without its module": ("exception:AcceleratorError", MISALIGNED, YES),
    "AcceleratorError is a RuntimeError": ("exception:RuntimeError:misaligned", MISALIGNED, YES),
    "a RuntimeError is no AcceleratorError": ("exception:AcceleratorError", failing("RuntimeError", "misaligned"), NO),
    "text matches": (r"exception:ValueError:got \d+$", failing("ValueError", "got 12"), YES),
    "text does not match": ("exception:ValueError:got none", failing("ValueError", "got 12"), NO),
    "text with a colon": ("exception:ValueError:got: 12", failing("ValueError", "got: 12"), YES),
    "text only in the source": (
        "exception:ValueError:12",
        failing("ValueError", "x", stderr=traceback("ValueError: x", "f(12)")),
        NO,
    ),
    "caught": ("exception:ValueError", passing(stderr=traceback("ValueError: x")), NO),
    "plain": ("exception:ValueError:x", plain(traceback("ValueError: x")), YES),
    "plain, builtin ancestor": ("exception:LookupError", plain(traceback("KeyError: 'x'")), YES),
    "plain, torch's ancestor": ("exception:RuntimeError", plain(traceback("torch.AcceleratorError: x")), YES),
    "plain, another builtin": ("exception:ValueError", plain(traceback("KeyError: 'x'")), NO),
    "plain, nobody knows the ancestors": ("exception:ValueError", plain(traceback("pkg.ShapeError: x")), UNKNOWN),
    "plain, the very type": ("exception:ShapeError", plain(traceback("pkg.ShapeError: x")), YES),
    "plain, printed by a run that ends well": ("exception:ValueError", plain(traceback("ValueError: x"), 0), NO),
    "plain, a check that asserts": ("mismatch", plain(traceback("AssertionError: off")), YES),
    "plain, perhaps a check that raises": ("mismatch", plain(traceback("RuntimeError: off", "raise E(x)")), UNKNOWN),
    "an error of the script's, and no check": ("mismatch", failing("RuntimeError", "off"), NO),
    "in a child process": ("exception:ValueError", passing(children=("ValueError: x",)), YES),
    "memory asked for": ("exception:OutOfMemoryError", OUT_OF_MEMORY, YES),
    "memory asked for by text": ("exception:RuntimeError:out of memory", OUT_OF_MEMORY, YES),
    "memory is a RuntimeError beside others": ("exception:RuntimeError", OUT_OF_MEMORY, UNKNOWN),
    "exit status": ("exit:3", Run("fork", 3), YES),
    "another status": ("exit:3", Run("fork", 1), NO),
    "an exception exits 1": ("exit:1", failing("ValueError", "x"), YES),
    "memory exits 1 beside others": ("exit:1", OUT_OF_MEMORY, UNKNOWN),
    "a signal is no status": ("exit:6", ABORTED, NO),
    "signal": ("signal:SIGABRT", ABORTED, YES),
    "signal by its short name": ("signal:abrt", ABORTED, YES),
    "signal by number": ("signal:6", ABORTED, YES),
    "another signal": ("signal:SIGSEGV", ABORTED, NO),
    "ends well, no signal": ("signal:SIGSEGV", passing(), NO),
    "a kill of our own is no signal": ("signal:SIGKILL", replace(HUNG, signal=9), UNKNOWN),
    "a kill asked for": ("signal:SIGKILL", Run("fork", None, 9), YES),
    "timeout": ("timeout", HUNG, YES),
    "no timeout": ("timeout", passing(seconds=1.0), NO),
    "no timeout either": ("timeout", failing("ValueError", "x"), NO),
    "stopped before the exit": ("exit:3", HUNG, UNKNOWN),
    "trouble and time": ("timeout", replace(HUNG, trouble="the lane was gone"), UNKNOWN),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_endings(case: str) -> None:
    check_answer(*CASES[case])


def test_calibration_learns_the_ancestors_that_a_plain_process_does_not_tell() -> None:
    oracle = parse("exception:ValueError", folder=Path()).calibrate(failing("pkg.ShapeError", "x", MINE))
    assert oracle.judge(plain(traceback("pkg.ShapeError: x"))).faults


def test_a_lack_of_memory_does_not_stand_in_for_another_death() -> None:
    oracle = parse("exit:1", folder=Path())
    alone = replace(OUT_OF_MEMORY, mode="cold")
    assert oracle.judge(alone).faults, "uncalibrated, the question is taken literally"
    assert oracle.calibrate(failing("ValueError", "x")).judge(alone).answer is NO
    assert oracle.calibrate(alone).judge(OUT_OF_MEMORY).faults, "here the original itself ran out"


FULL = "[Errno 28] No space left on device: '/tmp/t/cubin'"


@pytest.mark.parametrize("spec", ["exit:1", "exception:OSError", "exception:ValueError", "misaligned address"])
def test_a_full_disk_says_nothing_of_the_candidate(spec: str) -> None:
    """Neither "yes" to a blunt question nor "no": that would be kept for ever in the journal."""
    oracle = same_fault(parse(spec, folder=Path())).calibrate(failing("OSError", "no such file"))
    verdict = oracle.judge(failing("OSError", FULL))
    assert verdict.answer is UNKNOWN and "a disk was full" in verdict.why
    child = replace(failing("RuntimeError", "the child died"), stderr=f"OSError: {FULL}")
    assert oracle.judge(child).answer is UNKNOWN


def test_a_full_disk_that_the_original_met_itself_is_asked_for() -> None:
    oracle = parse("exception:OSError", folder=Path()).calibrate(failing("OSError", FULL))
    assert oracle.judge(failing("OSError", FULL)).answer is YES


def test_timeouts_are_asked_for_alone() -> None:
    assert parse("timeout", folder=Path()).needs.timing
    assert not parse("exit:1", folder=Path()).needs.timing


ERROR, OTHER = parse("exception:ValueError", folder=Path()), parse("exit:1", folder=Path())
SEGV, SLOW = parse("signal:SIGSEGV", folder=Path()), parse("timeout", folder=Path())
VALUE = failing("ValueError", "x")

COMBINED = {
    "both hold": (all_of([ERROR, OTHER]), VALUE, YES),
    "one does not": (all_of([ERROR, SEGV]), VALUE, NO),
    "a reject that holds": (all_of([OTHER], [ERROR]), VALUE, NO),
    "a reject that does not": (all_of([OTHER], [SEGV]), VALUE, YES),
    "no beats unknown": (all_of([OTHER], [SLOW]), HUNG, NO),
    "unknown beats yes": (all_of([SLOW, OTHER]), HUNG, UNKNOWN),
    "an unknown reject": (all_of([SLOW], [OTHER]), HUNG, UNKNOWN),
}


@pytest.mark.parametrize("case", COMBINED)
def test_combined(case: str) -> None:
    oracle, run, expected = COMBINED[case]
    assert oracle.judge(run).answer is expected


def test_what_a_combination_asks_of_the_runner_is_what_its_parts_ask() -> None:
    parts = [parse(spec, folder=Path()) for spec in ("ttgir:async_tma", "sass:!UTMALDG", "timeout")]
    oracle = all_of(parts[:1], parts[1:])
    assert oracle.needs.wants == ("sass", "ttgir")
    assert oracle.needs.timing
    assert oracle.spec == "ttgir:async_tma and not sass:!UTMALDG and not timeout"


def test_a_combination_is_calibrated_part_by_part() -> None:
    oracle: Oracle = all_of([parse("misaligned address", folder=Path())], [parse("exit:3", folder=Path())])
    assert oracle.judge(passing(driver_error=716)).faults
    assert oracle.calibrate(MISALIGNED).judge(passing(driver_error=716)).answer is NO


def test_nothing_asked_is_a_mistake_of_ours() -> None:
    with pytest.raises(ValueError, match="no oracle"):
        all_of([])


def test_signals_have_names_of_this_system() -> None:
    assert parse(f"signal:{int(signal.SIGSEGV)}", folder=Path()).spec == "signal:SIGSEGV"

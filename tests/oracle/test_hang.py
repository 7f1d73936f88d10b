"""hang: a program that does not end, where the original does not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.oracle import Answer, all_of, parse
from shrinkray_gpu.oracle.hang import HangOracle
from shrinkray_gpu.runner.run import Launch, Run
from tests.oracle.runs import failing, passing

YES, NO, UNKNOWN = Answer.FAULTS, Answer.PASSES, Answer.UNKNOWN


def hung(place: str, *kernels: str, **more: object) -> Run:
    launches = tuple(Launch(kernel, kernel, (1,)) for kernel in kernels)
    run = Run("fork", None, timed_out=True, seconds=10.0, launches=launches, hanging=place)
    return replace(run, **more)  # type: ignore[arg-type]


KERNEL, HOST = hung("device", "spin"), hung("host", "spin")
SEVERAL = hung("device", "fill", "spin", "copy")

CASES = {
    "the kernel hangs still": (KERNEL, hung("device", "spin"), YES),
    "launched more than once": (KERNEL, hung("device", "spin", "spin"), YES),
    "an endless loop in Python instead": (KERNEL, hung("host", "spin"), NO),
    "a kernel instead of the endless loop": (HOST, hung("device", "spin"), NO),
    "the endless loop, without the kernel": (HOST, hung("host"), YES),
    "another kernel": (KERNEL, hung("device", "wait"), NO),
    "no kernel of Triton's": (KERNEL, hung("device"), NO),
    "a kernel of torch's": (hung("device"), hung("device"), YES),
    "the kernel, renamed by our own pass": (KERNEL, hung("device", "kernel"), YES),
    "one of several that may be it": (SEVERAL, hung("device", "spin"), YES),
    "none of several": (SEVERAL, hung("device", "wait", "other"), NO),
    "nothing waits for the kernel any more": (KERNEL, hung("left", "spin"), NO),
    "nothing did in the original": (hung("left", "spin"), hung("left", "spin"), YES),
    "nobody could tell where": (KERNEL, hung("", "spin"), UNKNOWN),
    "python FILE, which nobody can ask": (KERNEL, hung("", mode="plain"), UNKNOWN),
    "python FILE ends": (KERNEL, passing(mode="plain"), NO),
    "it ends well": (KERNEL, passing(), NO),
    "it dies": (KERNEL, failing("ValueError", "x"), NO),
    "no lane": (KERNEL, hung("device", "spin", trouble="the lane was gone"), UNKNOWN),
    "killed from outside": (KERNEL, Run("fork", None, 9), UNKNOWN),
}


@pytest.mark.parametrize("case", CASES)
def test_a_candidate_hangs_where_the_original_does(case: str) -> None:
    reference, run, expected = CASES[case]
    oracle = parse("hang", folder=Path())
    assert oracle.judge(reference).faults
    verdict = oracle.calibrate(reference).judge(run)
    assert verdict.answer is expected, verdict.why
    assert verdict.why


def test_an_original_that_hangs_nobody_knows_where_is_no_reference() -> None:
    assert parse("hang", folder=Path()).judge(hung("")).answer is UNKNOWN


WORDS = {
    "hang": (KERNEL, "kernel spin does not end within 10 s"),
    "hang:2.5": (KERNEL, "kernel spin does not end within 2.5 s"),
    "hang:3": (SEVERAL, "the GPU is still at work after 3 s, last launch copy"),
    "hang:4": (hung("host", "spin"), "the host is still at work after 4 s, and the GPU is not, last launch spin"),
    "hang:5": (hung("device"), "the GPU is still at work after 5 s, none of Triton's kernels was launched"),
}


@pytest.mark.parametrize("spec", WORDS)
def test_the_verdict_names_the_kernel_and_the_time(spec: str) -> None:
    run, said = WORDS[spec]
    assert parse(spec, folder=Path()).judge(run).why == said


def test_other_oracles_do_not_take_a_hang_for_an_answer() -> None:
    assert parse("exit:1", folder=Path()).judge(KERNEL).answer is UNKNOWN
    assert parse("timeout", folder=Path()).judge(HOST).faults, "timeout takes any"


def test_time_is_the_question_so_nothing_runs_beside_it() -> None:
    oracle = all_of([parse("hang:7", folder=Path())], [parse("exit:3", folder=Path())])
    assert (oracle.needs.timing, oracle.needs.seconds) == (True, 7.0)


@pytest.mark.parametrize(("typed", "spec", "limit"), [("hang", "hang", 10.0), ("hang:05.50", "hang:5.5", 5.5)])
def test_what_can_be_typed(typed: str, spec: str, limit: float) -> None:
    oracle = parse(typed, folder=Path())
    assert isinstance(oracle, HangOracle)
    assert (oracle.spec, oracle.needs.seconds) == (spec, limit)


@pytest.mark.parametrize("typed", ["hang:soon", "hang:0", "hang:-1", "hang:1e9"])
def test_what_is_no_time(typed: str) -> None:
    with pytest.raises(UsageError, match="names no time"):
        parse(typed, folder=Path())


def test_a_near_miss_is_told() -> None:
    assert "did you mean 'hang'" in parse("hangs", folder=Path()).hint

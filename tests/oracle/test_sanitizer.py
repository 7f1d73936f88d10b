"""`sanitizer:TOOL[:REGEX]` on runs with the records of real outputs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from shrinkray_gpu.device import sanitizer_records
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.oracle import Oracle, all_of, parse
from shrinkray_gpu.oracle.verdict import Answer
from shrinkray_gpu.runner.run import Launch, Run

SAMPLES = Path(__file__).parents[1] / "evidence" / "samples"


def oracle(spec: str) -> Oracle:
    return parse(spec, folder=Path())


def under(name: str, exit: int = 1) -> Run:
    """The run that ended in this output."""
    text = (SAMPLES / f"{name}.txt").read_text()
    found = [record.text for record in sanitizer_records.records(text, name.partition("_")[0])]
    return Run("plain", exit, records=(*found, sanitizer_records.summary(text) or "no summary"))


OVERRUN = oracle("sanitizer:memcheck:Invalid __global__ write")


def test_a_record_that_matches_is_a_yes() -> None:
    verdict = OVERRUN.judge(under("memcheck_oob"))
    assert verdict.faults
    assert verdict.why == "memcheck: Invalid __global__ write of size 4 bytes at scale in oob.py:6 (6 records)"


def test_the_tool_reaches_the_runner() -> None:
    assert OVERRUN.needs.sanitizer == "memcheck"
    assert all_of([oracle("exit:1"), oracle("sanitizer:racecheck:Race")]).needs.sanitizer == "racecheck"


@pytest.mark.parametrize("name", ["memcheck_tma", "memcheck_uninit", "memcheck_assertion"])
def test_other_records_or_none_are_a_no(name: str) -> None:
    assert OVERRUN.judge(under(name)).answer is Answer.PASSES


def test_a_plain_run_answers_nothing() -> None:
    assert OVERRUN.judge(Run("plain", 0)).answer is Answer.UNKNOWN


LAUNCH = Launch("scale", "abc", (1,), {})


@pytest.mark.parametrize(
    ("launch", "answer"),
    [
        (replace(LAUNCH, fault="bounds: a load past its tensor"), Answer.FAULTS),
        (replace(LAUNCH, fault="assert: i < 4"), Answer.PASSES),
        (LAUNCH, Answer.PASSES),
        (replace(LAUNCH, undecided="bounds: it is too large"), Answer.UNKNOWN),
    ],
)
def test_without_a_gpu_a_static_rule_tells_what_memcheck_will(launch: Launch, answer: Answer) -> None:
    run = Run("virtual", 0, virtual=True, launches=(launch,))
    assert OVERRUN.judge(run).answer is answer
    assert oracle("sanitizer:racecheck").judge(run).answer is Answer.UNKNOWN


def test_the_kernels_of_records() -> None:
    assert sanitizer_records.kernels(under("memcheck_oob").records) == ("scale",)
    assert sanitizer_records.kernels(under("memcheck_uninit").records) == ()


def test_a_run_without_a_record_is_no_plain_run() -> None:
    assert oracle("sanitizer:memcheck").judge(under("memcheck_uninit", 0)).answer is Answer.PASSES


def test_the_program_may_end_well() -> None:
    assert oracle("sanitizer:initcheck:Uninitialized").judge(under("initcheck_uninit", 0)).faults


def test_the_original_s_kind_is_kept() -> None:
    any_record = oracle("sanitizer:memcheck")
    bound = any_record.calibrate(under("memcheck_oob"))
    assert bound.judge(under("memcheck_oob")).faults
    other = bound.judge(under("memcheck_tma"))
    assert other.answer is Answer.PASSES
    assert "'Misaligned shared or local address', not 'Invalid __global__ write'" in other.why
    assert any_record.judge(under("memcheck_tma")).faults


def test_a_size_is_no_kind() -> None:
    run = under("memcheck_oob")
    wider = Run("plain", 1, records=tuple(text.replace("of size 4 bytes", "of size 16 bytes") for text in run.records))
    assert OVERRUN.calibrate(run).judge(wider).faults


def test_python_s_frames_in_the_host_s_backtrace_are_no_match() -> None:
    assert not oracle("sanitizer:memcheck:_PyEval_EvalFrameDefault").judge(under("memcheck_oob")).faults


def test_one_tool_at_a_time() -> None:
    with pytest.raises(UsageError, match="choose memcheck or racecheck"):
        all_of([OVERRUN, oracle("sanitizer:racecheck")])


@pytest.mark.parametrize("spec", ["sanitizer:", "sanitizer:leakcheck:x", "sanitizer:memchek"])
def test_an_unknown_tool_is_refused(spec: str) -> None:
    with pytest.raises(UsageError, match="names no tool of compute-sanitizer.*memcheck, initcheck"):
        oracle(spec)


def test_an_empty_regex_is_refused() -> None:
    with pytest.raises(UsageError, match="empty regex"):
        oracle("sanitizer:memcheck:")

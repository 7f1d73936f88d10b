"""What counts are worth, by the controls before them: numbers in, results out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.questions.ir.patterns import parse
from shrinkray_gpu.questions.ir.plan import Role, StudyTest
from shrinkray_gpu.questions.ir.study import (
    KernelCounts,
    Presence,
    Study,
    StudyResult,
    check_countable,
    conclusion,
    count_run,
    deciding,
    judge_results,
)
from shrinkray_gpu.questions.varying import ConfiguredProgram
from shrinkray_gpu.runner.run import Compilation, Failure, Run

COUNTS = parse(["ttgir:async_tma", "sass:UTMALDG"])
PROGRAM = ConfiguredProgram(Path("/x/copy.py"), "", ())


def answer(role: str, *counted: int | None, name: str = "", axis: str = "") -> StudyResult:
    """A test whose one kernel has these counts; without any it did not compile."""
    rows = (KernelCounts("copy", counted, Compilation("copy", "h")),) if counted else ()
    result = Presence.UNCOUNTED
    if counted and None not in counted:
        result = Presence.PRESENT if all(counted) else Presence.MIXED if any(counted) else Presence.ABSENT
    test = StudyTest(Role(role), name or role, "", PROGRAM, axis)
    return StudyResult(test, rows, result, "" if rows else "compile fault")


def results(*answers: StudyResult) -> list[str]:
    return [one.result.value for one in judge_results(answers, COUNTS)]


def said(*answers: StudyResult) -> str:
    return conclusion(judge_results(answers, COUNTS), "3.6.0").removeprefix("triton 3.6.0: ")


def test_all_controls_hold() -> None:
    tests = answer("known", 1, 1), answer("good", 2, 2), answer("bad", 0, 0), answer("stress", 4, 4)
    assert results(*tests) == ["present", "present", "absent", "present"]
    assert [one.held for one in judge_results(tests, COUNTS)] == [True, True, True, None]
    assert said(*tests) == "yes: good 2/2, stress 4/4; none in bad 0/0"


def test_a_failed_positive_control_makes_the_rest_inconclusive() -> None:
    tests = answer("good", 0, 0), answer("bad", 0, 0), answer("stress", 0, 0)
    assert results(*tests) == ["absent", "inconclusive", "inconclusive"]
    assert "nothing shows that the patterns fit" in said(*tests)


def test_a_true_zero_is_told_from_a_pattern_that_does_not_fit() -> None:
    assert said(answer("known", 2, 2), answer("good", 0, 0)) == "no: none in good 0/0, and the patterns fit: known 2/2"
    tests = answer("known", 0, 2), answer("good", 0, 0), answer("stress", 0, 0)
    assert results(*tests) == ["in some stages only", "inconclusive", "inconclusive"]
    assert said(*tests).startswith("no answer: the patterns are not shown to fit")
    [known, *_] = judge_results(tests, COUNTS)
    assert "none by ttgir:async_tma: does that pattern fit" in known.why


def test_stages_that_contradict_each_other_are_no_positive_control() -> None:
    assert results(answer("good", 0, 2), answer("stress", 0, 2)) == ["in some stages only", "inconclusive"]
    assert said(answer("good", 0, 2)).startswith("no answer")


def test_a_negative_control_that_has_it_spoils_what_comes_after() -> None:
    tests = answer("good", 2, 2), answer("bad", 1, 0), answer("stress", 2, 2)
    assert results(*tests) == ["present", "in some stages only", "inconclusive"]
    assert said(*tests) == "no answer: the negative control has it too (bad 1/0)"


def test_a_control_that_does_not_compile_or_is_not_delivered_is_none() -> None:
    assert results(answer("good"), answer("stress", 1, 1)) == ["no count", "inconclusive"]
    assert results(answer("good", 1, None), answer("stress", 1, 1)) == ["no count", "inconclusive"]
    assert results(answer("good", 1, 1), answer("bad"), answer("stress", 1, 1))[1:] == [
        "no count",
        "inconclusive",
    ]
    assert "no sass was delivered" in said(answer("good", 1, None))


@pytest.mark.parametrize(
    ("good", "others", "verdict"),
    [
        ((2, 2), [(2, 2), (2, 2)], "does not decide"),
        ((2, 2), [(2, 2), (4, 4)], "changes the number only"),
        ((2, 2), [(2, 2), (0, 0)], "decides"),
        ((0, 0), [(0, 0)], "no value brings it about"),
        ((0, 0), [(1, 1)], "decides"),
        ((2, 2), [(0, 2)], "inconclusive, since stages contradict each other"),
        ((), [()], "has no count"),
    ],
)
def test_what_decides(good: tuple[int, ...], others: list[tuple[int, ...]], verdict: str) -> None:
    over = [answer("over", *counted, name=f"N={at}", axis="N") for at, counted in enumerate(others)]
    study = Study({}, COUNTS, tuple(judge_results([answer("known", 1, 1), answer("good", *good), *over], COUNTS)))
    assert [one.verdict for one in deciding(study)] == [verdict]


def test_nothing_decides_where_the_patterns_do_not_fit() -> None:
    tests = answer("known", 0, 0), answer("good", 0, 0), answer("over", 1, 1, name="N=1", axis="N")
    assert [one.verdict for one in deciding(Study({}, COUNTS, tuple(judge_results(tests, COUNTS))))] == ["inconclusive"]


def test_a_zero_of_a_run_that_ended_early_is_none() -> None:
    """One kernel compiled without it, and nobody knows what the next one would have been."""
    trial = StudyTest(Role.BAD, "bad", "", PROGRAM)
    clean = Compilation("copy", "h", ir={"ttgir": "tt.load", "sass": "/*0000*/ LDG ;"})
    died = Run(mode="virtual", exit=1, failure=Failure("KeyError", "'gone'"), compiles=(clean,))
    found = count_run(trial, died, COUNTS)
    assert (found.result, found.totals) == (Presence.UNCOUNTED, (0, 0))
    assert found.why == "it ended early, in python fault: KeyError: 'gone'"
    assert count_run(trial, replace(died, exit=0, failure=None), COUNTS).result is Presence.ABSENT


def test_a_kernel_of_no_test_is_a_mistake_in_the_command_and_one_that_does_not_compile_is_an_answer() -> None:
    ran = Run(
        mode="virtual", exit=0, compiles=(Compilation("copy", "h", ir={"ttgir": "tt.load", "sass": "/*0000*/ LDG ;"}),)
    )
    broken = replace(ran, compiles=(Compilation("copy", "h", failure=Failure("CompilationError", "no")),))
    trial = StudyTest(Role.GOOD, "good", "", PROGRAM)
    with pytest.raises(UsageError, match=r"of good \(copy.py\), no kernel is called copi, but copy$"):
        check_countable([Study({}, COUNTS, (count_run(trial, ran, COUNTS, ["copi"]),))])
    check_countable([Study({}, COUNTS, (count_run(trial, ran, COUNTS),))])
    check_countable([Study({}, COUNTS, (count_run(trial, broken, COUNTS),))])
    idle = count_run(trial, replace(ran, compiles=()), COUNTS)
    check_countable([Study({}, COUNTS, (idle,)), Study({}, COUNTS, (count_run(trial, ran, COUNTS),))])
    with pytest.raises(UsageError, match="ends well and compiles no kernel"):
        check_countable([Study({}, COUNTS, (count_run(trial, ran, COUNTS), idle))])

"""What oracles need of the runner, alone and together."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.oracle.needs import Needs
from shrinkray_gpu.runner.knob_settings import KnobSetting
from shrinkray_gpu.runner.pool import Script
from shrinkray_gpu.runner.twins import repetitions

ASKED = {
    "run": False,
    "text": True,
    "stages": frozenset({"ptx"}),
    "builds": frozenset({"warning"}),
    "rules": frozenset({"bounds"}),
    "twins": repetitions(2),
    "elsewhere": KnobSetting("triton=3.6.0"),
    "sanitizer": "memcheck",
    "timing": True,
    "seconds": 3.0,
    "interpreted": True,
    "checked": True,
    "compared": "kept",
    "unsteady": ("actual",),
    "written": True,
    "draws_go_on": True,
    "asserts": True,
}


def test_each_need_is_tried_here() -> None:
    assert set(ASKED) == {field.name for field in dataclasses.fields(Needs)}


@pytest.mark.parametrize("name", sorted(set(ASKED) - {"run"}))
def test_what_one_of_two_needs_both_need(name: str) -> None:
    one, other = dataclasses.replace(Needs(), **{name: ASKED[name]}), Needs()
    assert one | other == other | one == one != other


def test_a_run_is_needed_unless_neither_asks_for_one() -> None:
    text = Needs(run=False, text=True)
    assert (text | Needs()).run and not (text | text).run


def test_a_program_runs_under_one_tool_at_a_time() -> None:
    with pytest.raises(UsageError, match="choose memcheck or racecheck"):
        Needs(sanitizer="memcheck") | Needs(sanitizer="racecheck")


def test_the_runner_is_told_of_what_it_must_do() -> None:
    needs = Needs(
        stages=frozenset({"ptx"}), builds=frozenset({"warning"}), twins=repetitions(2), timing=True, interpreted=True
    )
    asked = needs.on(Script(Path("a.py"), argv=("--n", "1")), virtual=True)
    assert asked == Script(
        Path("a.py"),
        argv=("--n", "1"),
        asserts=False,
        wants=("build:warning", "interpreted", "ptx"),
        twins=repetitions(2),
        tell=True,
    )


@pytest.mark.parametrize(
    ("asserts", "virtual", "kept"), [(False, True, False), (True, True, True), (False, False, True)]
)
def test_only_on_the_virtual_gpu_assertions_may_be_skipped(asserts: bool, virtual: bool, kept: bool) -> None:
    assert Needs(asserts=asserts).on(Script(Path("a.py")), virtual=virtual).asserts is kept


@pytest.mark.parametrize("name", ["text", "stages", "builds", "twins", "sanitizer"])
def test_a_plain_process_cannot_answer_a_question_of_another_kind(name: str) -> None:
    assert Needs(timing=True, seconds=1.0, asserts=True).plain
    assert not dataclasses.replace(Needs(), **{name: ASKED[name]}).plain


def test_without_a_limit_of_its_own_a_question_about_time_asks_the_user_for_one() -> None:
    assert Needs(timing=True).unlimited
    assert not Needs(timing=True, seconds=5.0).unlimited and not Needs().unlimited

"""The first trial of a reduction: what the engine does with lifted scripts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.reduction.course import Bench

LONG = "".join(f"s{i} = {i}\n" for i in range(30)) + "launch()\n"
SHORT = "kernel()\nlaunch()\n"


def faults(text: str) -> bool:
    return "launch()" in text


def test_the_first_that_faults_is_taken_before_any_pass(tmp_path: Path) -> None:
    bench = Bench(faults)
    result = bench.reduce(LONG, tmp_path, lifts=lambda: ["kernel()\n", SHORT, "other()\nlaunch()\n"])
    accepted = [(event.pass_name, event.program.text) for event in bench.events if event.kind == "accepted"]
    assert accepted[0] == ("lift", SHORT)
    assert result.program.text == "launch()\n"


@pytest.mark.parametrize("texts", [[], ["kernel()\n"], [LONG + "more()\n"], ["not python (\n"]])
def test_where_none_will_do_the_program_is_reduced_as_it_is(tmp_path: Path, texts: list[str]) -> None:
    bench = Bench(faults)
    assert bench.reduce(LONG, tmp_path, lifts=lambda: texts).program.text == "launch()\n"
    assert all(event.pass_name == "statements" for event in bench.events if event.kind == "accepted")


@pytest.mark.parametrize(("text", "keep"), [(LONG, ["s3"]), (LONG.replace("s3 = 3", "s3 = 3  # shrink: keep"), [])])
def test_what_the_user_wants_kept_is_not_lifted_away(tmp_path: Path, text: str, keep: list[str]) -> None:
    def never() -> Sequence[str]:
        raise AssertionError("nothing is to be lifted")

    assert "s3 = 3" in Bench(faults).reduce(text, tmp_path, lifts=never, keep=keep).program.text


def test_a_resumed_reduction_lifts_nothing_again(tmp_path: Path) -> None:
    asked = []

    def lifts() -> Sequence[str]:
        asked.append(1)
        return [SHORT]

    first = Bench(faults)
    first.reduce(LONG, tmp_path, lifts=lifts, stop=lambda: len(first.asked) > 1)
    again = Bench(faults)
    assert again.reduce(LONG, tmp_path, lifts=lifts, resume=True).program.text == "launch()\n"
    assert len(asked) == 1
    assert SHORT not in again.asked

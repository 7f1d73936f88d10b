"""A second course from the start: passes that took most go first, and it counts only if its end is smaller."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import libcst as cst
import pytest

from shrinkray_gpu.oracle.verdict import Verdict
from shrinkray_gpu.reduction.edit import Edit, Remove, Replace
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.second_course import SHARE, by_gain, is_hopeless
from shrinkray_gpu.reduction.spending import PassCost
from shrinkray_gpu.reduction.state import State
from tests.reduction.course import Bench, Own, statements, verdict

JUNK = "".join(f"junk({i}, {i}, {i})\n" for i in range(12))
PROGRAM = JUNK + "begin(middle(1, 2, 3))\n"


def _calls(program: Program, name: str) -> list[cst.Call]:
    return [node for node in program.parents if isinstance(node, cst.Call) and node.func.value == name]  # type: ignore[attr-defined]


def find_trap(program: Program) -> Iterable[Edit]:
    """Smaller at once, and no way on."""
    for call in _calls(program, "begin"):
        yield Edit("trap", (Replace(call, ("trap(1, 2)",)),))


def find_way(program: Program) -> Iterable[Edit]:
    for call in _calls(program, "begin"):
        yield Edit("way", (Replace(call, ("end()",)),))
    for call in _calls(program, "junk"):
        yield Edit("no junk", (Remove(program.parents[call]),), weight=9)


trap, way = Own("trap", find_trap), Own("way", find_way, stage=1)


def faults(text: str) -> bool:
    return "begin(middle(1" in text or "trap(1" in text or "end()" in text


def test_another_order_leads_round_what_the_first_one_ran_into(tmp_path: Path) -> None:
    first = Bench(faults).reduce(PROGRAM, tmp_path / "first", passes=(trap, way))
    assert first.program.text == "trap(1, 2)\n"
    bench = Bench(faults)
    both = bench.reduce(PROGRAM, tmp_path / "both", passes=(trap, way), second=True)
    assert (both.program.text, both.ended) == ("end()\n", "done")
    assert (tmp_path / "both" / "best.py").read_text() == "end()\n"
    assert both.line[-1].text == "end()\n" and both.cost.passes["second course"].tokens == 3
    assert both.cost.tries == len(bench.asked) == len(set(bench.keys)), "verdicts of the first course are remembered"


@pytest.mark.parametrize("asked", ["cold", "fingerprint"])
def test_it_goes_beside_the_last_cold_run_and_fingerprint(asked: str, tmp_path: Path) -> None:
    """Which take seconds in one lane: both are under way before either is waited for."""
    bench = Bench(faults)
    beside: dict[str, int] = {}

    class Slow:
        def __init__(self, program: Program) -> None:
            self.program, self.begun = program, len(bench.asked)

        def result(self) -> Verdict:
            beside[self.program.text] = len(bench.asked) - self.begun
            return verdict(faults(self.program.text))

    both = bench.reduce(PROGRAM, tmp_path / "both", passes=(trap, way), second=True, **{asked: Slow})
    assert both.program.text == "end()\n"
    assert (both.checks.verified if asked == "cold" else both.checks.last_same) == both.program
    assert beside["trap(1, 2)\n"] >= both.cost.passes["second course"].tries > 0


def test_a_first_course_that_a_cold_run_takes_back_goes_on(tmp_path: Path) -> None:
    """The second one was begun on trust: what is accepted in the end is what a cold run confirms."""

    class Cold:
        def __init__(self, program: Program) -> None:
            self.program = program

        def result(self) -> Verdict:
            return verdict("begin" in self.program.text)

    both = Bench(faults).reduce(PROGRAM, tmp_path / "both", passes=(trap, way), second=True, cold=Cold)
    assert (both.program.text, both.ended) == ("begin(middle(1, 2, 3))\n", "done")
    assert both.checks.rollbacks > 0 and both.checks.verified == both.program


def test_what_the_controls_refused_in_the_first_course_is_not_asked_again_in_the_second(tmp_path: Path) -> None:
    asked: list[str] = []

    class Control:
        def __init__(self, program: Program) -> None:
            self.text = program.text
            asked.append(self.text)

        def result(self) -> Verdict:
            return verdict("trap" not in self.text)

    both = Bench(faults).reduce(PROGRAM, tmp_path, passes=(trap,), second=True, controls=Control)
    assert both.program.text == PROGRAM and both.cost.passes["second course"].free == 1
    assert len(asked) == 1 and "trap" in asked[0], "the second course inherits what they said"


def test_what_ends_no_smaller_changes_nothing(tmp_path: Path) -> None:
    bench = Bench(lambda text: "begin" in text)
    both = bench.reduce(PROGRAM, tmp_path / "folder", passes=(statements,), second=True)
    alone = Bench(lambda text: "begin" in text).reduce(PROGRAM, tmp_path / "alone", passes=(statements,))
    assert both.program == alone.program and both.line == alone.line
    assert both.cost.passes["second course"].accepted == 0


def test_it_takes_no_more_than_its_share(tmp_path: Path) -> None:
    def both_or_none(text: str) -> bool:
        return text.count("junk") in (0, 12) and "begin" in text

    alone = Bench(both_or_none).reduce(PROGRAM, tmp_path / "alone", passes=(way, trap, statements))
    result = Bench(both_or_none).reduce(PROGRAM, tmp_path / "both", passes=(way, trap, statements), second=True)
    assert result.cost.tries - alone.cost.tries <= SHARE * alone.cost.tries + 8


def test_it_is_given_up_where_it_falls_behind(tmp_path: Path) -> None:
    begun = Program.from_text(PROGRAM)

    def state(considered: int, tokens: int) -> State:
        made = State(begun, begun, lambda event: None)
        made.counts.considered = considered
        made.best = Program.from_text("x\n" * tokens)
        return made

    assert not is_hopeless(state(24, 500), 80, 100), "too early to tell"
    assert is_hopeless(state(25, 500), 80, 100)
    assert not is_hopeless(state(40, 120), 80, 100), "not far behind"
    far = [tokens for tokens in range(100, 500, 5) if is_hopeless(state(60, tokens), 1000, 100)]
    assert far[0] == 405, "at a twentieth of the first course four times its end"
    assert not is_hopeless(state(40, 1000), 1000, 100), "before that it tells nothing"
    assert is_hopeless(state(60, 90), 80, 100), "it has had its share"


def test_no_time_no_second_course(tmp_path: Path) -> None:
    bench = Bench(faults)
    result = bench.reduce(PROGRAM, tmp_path, passes=(trap, way), second=True, stop=lambda: len(bench.asked) > 1)
    assert result.ended == "stopped" and "second course" not in result.cost.passes


def test_ctrl_c_in_it_leaves_the_best_of_the_first(tmp_path: Path) -> None:
    alone = Bench(faults).reduce(PROGRAM, tmp_path / "alone", passes=(trap, way))

    def until_the_second(text: str) -> bool:
        if len(bench.asked) > alone.cost.tries:
            raise KeyboardInterrupt
        return faults(text)

    bench = Bench(until_the_second)
    result = bench.reduce(PROGRAM, tmp_path / "both", passes=(trap, way), second=True)
    assert (result.program.text, result.ended) == ("trap(1, 2)\n", "interrupted")


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8, 0.95])
def test_a_course_that_was_killed_ends_in_the_same_result(tmp_path: Path, share: float) -> None:
    Bench(faults).reduce(PROGRAM, tmp_path, passes=(trap, way), second=True)
    journal = tmp_path / "journal.jsonl"
    lines = [line for line in journal.read_bytes().splitlines(keepends=True) if b'"event":"end"' not in line]
    journal.write_bytes(b"".join(lines[: int(share * len(lines))]))
    bench = Bench(faults)
    result = bench.reduce(PROGRAM, tmp_path, passes=(trap, way), second=True, resume=True)
    assert result.program.text == "end()\n"


def test_passes_by_what_they_took_for_a_try() -> None:
    spent = {"trap": PassCost(tries=9, tokens=5), "way": PassCost(tries=9, tokens=50)}
    assert [(each.name, each.stage) for each in by_gain([statements, trap, way], spent)] == [
        ("way", 0),
        ("trap", 0),
        ("statements", 0),
    ]

"""A fast course ends where its next step is not worth ten seconds, and never for less."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from shrinkray_gpu.reduction.edit import Edit
from shrinkray_gpu.reduction.limits import NotWorthIt
from shrinkray_gpu.reduction.outcome import Reduction
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.state import State
from shrinkray_gpu.reduction.worth import Worth
from tests.reduction.course import Bench, Own, numbers, statements
from tests.reduction.test_engine import has
from tests.reduction.test_guards import Beside, Tightening, truth

LONG = "".join(f"s{i} = {i}\n" for i in range(30))
KEPT = ("s3 = 3\n", "s7 = 7\n", "s11 = 11\n", "s17 = 17\n")
"""Of these each number is asked for again, once nothing else is left: in the last round."""


def slowly(bench: Bench, seconds: float = 1.0) -> Callable[[], float]:
    """A clock by which each candidate takes so long."""
    return lambda: seconds * len(bench.asked)


def nothing(program: Program) -> Iterable[Edit]:
    return ()


def reduced(folder: Path, *, fast: bool, seconds: float = 1.0, **options: Any) -> tuple[Reduction, Bench]:
    bench = Bench(has(*KEPT))
    result = bench.reduce(LONG, folder, clock=slowly(bench, seconds), fast=fast, **options)
    return result, bench


def test_the_thorough_round_is_left_out_and_told(tmp_path: Path) -> None:
    whole, all_tries = reduced(tmp_path / "whole", fast=False, passes=(numbers, statements))
    early, fewer = reduced(tmp_path / "early", fast=True, passes=(numbers, statements))
    assert (whole.ended, whole.early, early.ended) == ("done", "", "stopped early")
    assert len(fewer.asked) < len(all_tries.asked)
    assert fewer.asked == all_tries.asked[: len(fewer.asked)], "time decides when it ends, and nothing else"
    assert early.program.text == whole.program.text
    assert early.early.startswith("the last turns of all passes took 0 tokens in ")


def test_without_fast_it_goes_on_from_there(tmp_path: Path) -> None:
    whole, all_tries = reduced(tmp_path / "whole", fast=False, passes=(numbers, statements))
    _, fewer = reduced(tmp_path / "early", fast=True, passes=(numbers, statements))
    again, rest = reduced(tmp_path / "early", fast=False, passes=(numbers, statements), resume=True)
    assert again.ended == "done" and again.program.text == whole.program.text
    assert len(rest.asked) == len(all_tries.asked) - len(fewer.asked), "nothing is asked twice"


def test_a_pass_without_a_turn_is_waited_for(tmp_path: Path) -> None:
    """Hours of a fruitless pass say nothing of the one behind it."""
    late = Own("late", statements.find, stage=2)
    early, _ = reduced(tmp_path, fast=True, seconds=100.0, passes=(numbers, late))
    whole, _ = reduced(tmp_path / "whole", fast=False, passes=(numbers, late))
    assert early.program.size.tokens == whole.program.size.tokens


def test_a_fruitful_round_is_followed_by_another(tmp_path: Path) -> None:
    """The second pass frees what the first one could not take: that has its turn again."""

    def judge(text: str) -> bool:
        return "s3 " in text and ("s7 " in text or "s9 " not in text)

    def first(program: Program) -> Iterable[Edit]:
        return (edit for edit in statements.find(program) if "s9" not in edit.what)

    def second(program: Program) -> Iterable[Edit]:
        return (edit for edit in statements.find(program) if "s9" in edit.what)

    bench = Bench(judge)
    passes = (Own("first", first), Own("second", second))
    result = bench.reduce(LONG, tmp_path, passes=passes, clock=slowly(bench, 0.1), fast=True)
    assert result.program.text == "s3 = 3\n"


def test_what_takes_nothing_for_ten_seconds_is_not_followed_to_its_end(tmp_path: Path) -> None:
    """In the last round each refused edit is asked again: of a pass at work, no more than ten seconds."""
    fruitless = Own("fruitless", numbers.find)
    fast, fewer = reduced(tmp_path / "a", fast=True, passes=(fruitless, Own("nothing", nothing)))
    slow, more = reduced(tmp_path / "b", fast=False, passes=(fruitless, Own("nothing", nothing)))
    assert fast.ended == "stopped early" and slow.ended == "done" and len(fewer.asked) < len(more.asked)


@pytest.mark.parametrize("other, ends", [(0, True), (5, False)])
def test_a_pass_at_work_is_left_where_it_took_nothing_for_ten_seconds(other: int, ends: bool) -> None:
    """Unless the one behind it promises enough: `other` tokens in its last turn."""
    one, two, now = Own("one", nothing), Own("two", nothing), [0.0]
    start = Program.from_text(LONG, "failing.py")
    state = State(start, start, progress=lambda event: None)
    worth = Worth((one, two), state, lambda: now[0], fast=True)

    def take(statements_gone: int, seconds: float) -> None:
        state.best = start.with_text("".join(state.best.text.splitlines(True)[statements_gone:]))
        now[0] += seconds
        worth.check()

    with worth.turn(one, (two,)):
        take(10, 60.0)
    with worth.turn(two, (one,)):
        take(other, 30.0)
    with worth.turn(one, (two,)):
        take(1, 9.9)
        take(0, 9.9)
        with pytest.raises(NotWorthIt) if ends else nullcontext():
            take(0, 0.1)


def test_a_step_that_a_check_takes_back_is_gone_on_from(tmp_path: Path) -> None:
    """The checks are asked before the search ends early. What they take back leaves more to do, for every pass."""
    course, identify = Tightening(), Beside(truth)
    options = {"clock": slowly(course.bench), "first": 1 << 30, "fingerprint": identify}
    result = course.reduce(tmp_path, passes=(statements, numbers), fast=True, **options)
    assert result.ended == "stopped early" and len(result.checks.fingerprint_slips) == 1
    assert result.program.text == "s3 = 0\ns7 = 0\n" and result.checks.last_same == result.program

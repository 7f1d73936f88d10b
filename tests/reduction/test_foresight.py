"""What will most likely be asked next is known well, and knowing it changes nothing."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from shrinkray_gpu.reduction.program import Program
from tests.reduction.course import Bench, blocks, numbers, statements, trace
from tests.reduction.test_trajectory import PROGRAM, faults

OPTIONS = {"passes": (statements, blocks, numbers), "width": 4}


def test_the_course_is_the_same_with_it_and_without(tmp_path: Path) -> None:
    plain, ahead = Bench(faults), Bench(faults)
    foreseen: set[str] = set()
    known = 0

    def foresee(likely: Iterable[Program]) -> None:
        foreseen.update(program.text for program in likely)

    def judge(programs):  # type: ignore[no-untyped-def]
        nonlocal known
        known += sum(program.text in foreseen for program in programs)
        return ahead.judge(programs)

    first = plain.reduce(PROGRAM, tmp_path / "plain", **OPTIONS)
    second = ahead.reduce(PROGRAM, tmp_path / "ahead", **OPTIONS, judge=judge, foresee=foresee)
    assert trace(plain.events) == trace(ahead.events) and plain.asked == ahead.asked
    assert (first.cost.tries, first.cost.free) == (second.cost.tries, second.cost.free)
    assert known > second.cost.tries / 3


def test_what_needs_no_judge_is_not_foreseen(tmp_path: Path) -> None:
    bench = Bench(faults)
    unparsed: list[str] = []

    def foresee(likely: Iterable[Program]) -> None:
        unparsed.extend(program.text for program in likely if not program.parses or program.key in bench.keys)

    bench.reduce(PROGRAM, tmp_path, **OPTIONS, foresee=foresee)
    assert unparsed == []

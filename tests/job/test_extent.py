"""No result, and no best.py, has more tokens or lines than the program that was given."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from shrinkray_gpu.job.ready import Ready, most_of
from shrinkray_gpu.job.search_run import within
from shrinkray_gpu.passes.layout.layout import layout
from shrinkray_gpu.reduction.extent import Extent
from shrinkray_gpu.reduction.journal import Journal
from shrinkray_gpu.reduction.lift_choice import LiftChoice
from shrinkray_gpu.reduction.outcome import Reduction
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.runner.run import Run

GIVEN = Program.from_text("a = f(1)\nb = g(a)\n")
MARKED = GIVEN.with_text("a = f(1)  # shrink: keep\npassed = a\nb = g(passed)\n")
TALL = GIVEN.with_text("a = 1\na\na\n")
SMALL = GIVEN.with_text("f(1)\n")


def ready(most: Extent) -> Ready:
    shown: Callable[[str], str] = lambda text: text.replace("  # shrink: keep", "")  # noqa: E731
    return cast(Ready, SimpleNamespace(most=most, shown=shown, laid_out=lambda text: layout(text, most.lines)))


@pytest.mark.parametrize(
    ("line", "result"),
    [
        ((MARKED,), GIVEN),  # nothing was taken away yet
        ((MARKED, SMALL), SMALL),
        ((MARKED, SMALL, TALL), SMALL),  # fewer tokens than was given, but a line more
        ((GIVEN,), GIVEN),
    ],
)
def test_the_result_is_the_last_that_is_no_larger_than_what_was_given(
    line: tuple[Program, ...], result: Program
) -> None:
    found = Reduction(line[-1], "out of time", line, cost=cast(Any, None), checks=cast(Any, None))
    assert within(found, ready(GIVEN.extent), GIVEN).program == result


def test_what_is_given_with_modules_of_its_own_is_as_large_as_they_are() -> None:
    found = Reduction(MARKED, "out of time", (MARKED,), cost=cast(Any, None), checks=cast(Any, None))
    assert within(found, ready(MARKED.extent), GIVEN).program.key == MARKED.key


def test_a_crowded_program_counts_as_laid_out() -> None:
    crowded = GIVEN.with_text("def f(x): a = x; b = a; return b\nf(1)\n")
    start, given = SimpleNamespace(lifted=False), SimpleNamespace(program=crowded, command=None)
    assert crowded.extent.lines == 2 and most_of(cast(Any, start), cast(Any, given)).lines == 5


def test_neither_is_best_py(tmp_path: Path) -> None:
    with Journal.open(tmp_path, original=GIVEN, seed=0, width=1, settings={}) as journal:
        journal.record_lift(LiftChoice(Run("cold", 1), MARKED.text))
        journal.begin_with(MARKED, size=MARKED.size, most=GIVEN.extent)
        journal.best(TALL, size=TALL.size, by="statements")
        journal.flush()
        assert not journal.best_path.exists() and journal.latest == TALL.text
        journal.best(SMALL, size=SMALL.size, by="statements")
        journal.flush()
        assert journal.best_path.read_text() == SMALL.text


def test_a_line_that_had_a_mark_is_wrapped_for_its_reader() -> None:
    names = ", ".join(f"value_{number}" for number in range(12))
    one = SimpleNamespace(start=SimpleNamespace(lifted=True), laid_out=layout)
    text = Ready.shown(cast(Ready, one), f"total = sum([{names}])  # shrink: keep\n")
    assert "shrink" not in text and max(map(len, text.splitlines())) <= 100 and text.count("value_") == 12

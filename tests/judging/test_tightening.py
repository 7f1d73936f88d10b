"""A test that was tightened twice asks for both."""

from __future__ import annotations

from shrinkray_gpu.judging.tightening import Tightening
from shrinkray_gpu.oracle.verdict import Verdict, lacks
from shrinkray_gpu.runner.run import Run
from tests.oracle.runs import passing


def by_text(text: str, run: Run) -> Verdict | None:
    return lacks("by its text") if "slip" in text else None


def by_run(text: str, run: Run) -> Verdict | None:
    return lacks("by its run") if run.exit == 0 else None


def test_what_the_first_check_sees_the_second_need_not() -> None:
    both = Tightening((by_text,), ("cubin",)) + Tightening((by_run, by_text), ("ttir", "cubin"))
    assert both.checks == (by_text, by_run) and both.wants == ("cubin", "ttir")
    assert both.refute("slip = 1\n", passing()) == lacks("by its text")
    assert both.refute("x = 1\n", passing()) == lacks("by its run")
    assert both.refute("x = 1\n", Run("fork", 1)) is None


def test_what_was_begun_beside_the_lane_is_begun_still() -> None:
    begun: list[Run] = []
    for both in (Tightening(begin=begun.append) + Tightening(), Tightening() + Tightening(begin=begun.append)):
        assert both.begin is not None
        both.begin(passing())
    assert len(begun) == 2

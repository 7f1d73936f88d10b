"""A GPU that is lost ends the search with a word, and programs that hang do not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shrinkray_gpu.errors import LanesLost
from shrinkray_gpu.judging.pulse import EMPTY, PATIENCE, SILENT, Pulse
from shrinkray_gpu.runner.request import Request
from shrinkray_gpu.runner.run import Run

HANGS = Run("fork", None, timed_out=True, seconds=3.0)
DEAD = Run("fork", None, trouble="a lane did not come up: no answer in time")
ENDS = Run("fork", 1)
KNOWN = Request("known", "/failing.py")


def note(pulse: Pulse, run: Run, again: Run, *, steady: bool = True) -> list[str]:
    """The programs that were run again."""
    asked: list[str] = []

    def ran(request: Request, least: float) -> Run:
        asked.append(request.source)
        return again

    pulse.note(KNOWN if run is ENDS else replace(KNOWN, source="other"), run, ran, steady=steady)
    return asked


def test_programs_that_hang_are_no_lost_gpu() -> None:
    pulse = Pulse()
    assert note(pulse, ENDS, HANGS) == []
    asked = [note(pulse, HANGS, ENDS) for _ in range(2 * SILENT)]
    assert asked == [*[[]] * (SILENT - 1), ["known"]] * 2, "one that told something is run again, and answers"


@pytest.mark.parametrize("silence", [HANGS, DEAD])
def test_where_what_answered_before_does_not_it_is_told(silence: Run) -> None:
    pulse = Pulse()
    note(pulse, ENDS, silence)
    for _ in range(SILENT - 1):
        assert note(pulse, silence, silence) == []
    with pytest.raises(LanesLost, match=r"no answer|stopped after 3 s") as told:
        note(pulse, silence, silence)
    assert "\n" not in str(told.value) and "--resume" in str(told.value) and told.value.exit_code == 2


def test_a_machine_that_is_only_slow_is_waited_for() -> None:
    pulse, asked = Pulse(), []

    def ran(request: Request, least: float) -> Run:
        asked.append(least)
        return ENDS if least else HANGS

    for _ in range(SILENT):
        pulse.note(KNOWN, HANGS, ran)
    assert asked == [0.0, PATIENCE]


def test_an_answer_between_counts_anew() -> None:
    pulse = Pulse()
    for _ in range(5):
        for _ in range(SILENT - 1):
            assert note(pulse, HANGS, HANGS) == []
        note(pulse, ENDS, HANGS)


def test_an_empty_program_tells_where_none_answered_yet() -> None:
    pulse = Pulse()
    assert [note(pulse, DEAD, ENDS) for _ in range(SILENT)][-1] == [EMPTY]


def test_what_may_hang_by_chance_is_not_asked() -> None:
    pulse = Pulse()
    note(pulse, ENDS, ENDS)
    assert [note(pulse, HANGS, ENDS, steady=False) for _ in range(SILENT)][-1] == [EMPTY]

"""Clean runs of what hangs: a watched run shows it, and a plain one may only deny it."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrinkray_gpu.job import hang_check
from shrinkray_gpu.oracle import parse
from shrinkray_gpu.runner.run import Run

HANGS = Run("cold", None, timed_out=True, seconds=8.0, hanging="device")
ON_THE_HOST = Run("cold", None, timed_out=True, seconds=24.0, hanging="host")
ENDS = Run("cold", 0, seconds=7.0)
STOPPED, ENDED = Run("plain", None, timed_out=True, seconds=12.0), Run("plain", 0, seconds=9.0)


def counted(watched: list[Run], plain: list[Run], given: list[float] | None = None) -> int:
    runs, plains, asked = iter(watched), iter(plain), given if given is not None else []

    def plainly(seconds: float) -> Run:
        asked.append(seconds)
        return next(plains)

    oracle = parse("hang:4", folder=Path()).calibrate(HANGS)
    return hang_check.showing(oracle, len(watched), watched=lambda: next(runs), plain=plainly, most=24.0, at_once=1)


@pytest.mark.parametrize(
    ("watched", "plain", "shown"),
    [
        ([HANGS] * 3, [STOPPED] * 3, 3),
        ([HANGS] * 3, [STOPPED, ENDED, STOPPED], 2),
        ([HANGS, ENDS, HANGS], [STOPPED] * 3, 2),
        ([ENDS, HANGS], [STOPPED] * 2, 1),
        ([HANGS, ON_THE_HOST], [STOPPED] * 2, 1),
        ([HANGS], [Run("plain", 1, seconds=2.0)], 0),
    ],
    ids=["hangs", "ends without us", "ends once", "ends at first", "hangs elsewhere", "dies without us"],
)
def test_a_run_counts_if_it_hangs_and_the_plain_one_has_not_ended(
    watched: list[Run], plain: list[Run], shown: int
) -> None:
    assert counted(watched, plain) == shown


def test_a_plain_run_gets_half_as_long_again_as_the_watched_one_took() -> None:
    given: list[float] = []
    counted([HANGS] * 2, [STOPPED] * 2, given)
    assert given == [12.0, 12.0]


@pytest.mark.parametrize("first", [ENDS, ON_THE_HOST])
def test_but_all_there_is_where_that_tells_nothing(first: Run) -> None:
    given: list[float] = []
    counted([first], [STOPPED], given)
    assert given == [24.0]

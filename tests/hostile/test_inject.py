"""Of each kind of fault from outside one schedule, on a program without torch; `python -m tests.hostile.inject` runs
many, on others too."""

from __future__ import annotations

import os
import shutil
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.hostile.inject import kills, schedules
from tests.hostile.inject.schedules import KINDS, Undisturbed, outcome, undisturbed
from tests.hostile.inject.subjects import SUBJECTS
from tests.hostile.inject.tool import started

LOOKUP = replace(SUBJECTS["lookup"], words=(*SUBJECTS["lookup"].words, "--no-report"))
NO_COMPILER = shutil.which("gcc") is None and shutil.which("cc") is None


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    if NO_COMPILER:
        pytest.skip("needs a C compiler")
    return undisturbed(LOOKUP, tmp_path_factory.mktemp("undisturbed"))


@pytest.mark.parametrize("kind", KINDS)
def test_a_reduction_ends_as_without_it_or_says_what_happened(kind: str, known: Undisturbed, tmp_path: Path) -> None:
    folder = tmp_path / "reduced"
    folder.mkdir()
    came = outcome(kind, 1, LOOKUP, known, folder)
    assert came.problem == "", came
    assert came.injected > 0, came


def test_no_room_for_the_result_itself(known: Undisturbed, tmp_path: Path) -> None:
    """The last writes of all: of result.json and of the attachment."""
    folder = tmp_path / "reduced"
    folder.mkdir()
    drawn = schedules.no_room(known.operations - 2, schedules.EVER)
    told = replace(known, left=schedules.LEFT)
    came = schedules.under(drawn, "full_disk", 0, SUBJECTS["lookup"], told, folder)
    assert came.problem == "" and came.injected, came


@pytest.mark.parametrize("lines", [0, 3])
def test_ctrl_c_while_all_that_starts_programs_is_stopped(lines: int, tmp_path: Path) -> None:
    LOOKUP.write(tmp_path)
    tool = started(LOOKUP, folder=tmp_path)
    while tool.is_at_work() and (len(tool.keepers()) < 2 or schedules.journal_lines(tmp_path) < lines):
        time.sleep(0.01)
    for pid in tool.keepers():
        os.kill(pid, signal.SIGSTOP)
    tool.process.send_signal(signal.SIGINT)
    began = time.monotonic()
    ended = tool.ended(tool.seconds() + 60)
    assert (ended.code, ended.left, ended.late) == (130, (), False), ended
    assert time.monotonic() - began < 30 and ended.emptied < 5


def test_killed_in_each_phase_it_leaves_nothing_and_goes_on(tmp_path: Path) -> None:
    rows = kills.run(LOOKUP, 4, 1, 0, lambda text: None)
    assert len(rows) == 5 and not any(row["problem"] for row in rows), rows

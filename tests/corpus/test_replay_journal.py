"""What is kept of a replay that did not come to its end, and for whom."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from shrinkray_gpu.corpus import replay_journal as journals
from shrinkray_gpu.corpus.case_cells import CaseCell, ReplayPlace
from shrinkray_gpu.corpus.expectation import Status
from shrinkray_gpu.corpus.replay_journal import replay_journal
from shrinkray_gpu.reduction.journal_lines import sealed
from tests.corpus.making import case, outcome

PLACE = ReplayPlace(sys.executable, 90)


@pytest.fixture
def cells(tmp_path: Path) -> list[CaseCell]:
    return [CaseCell(case(tmp_path / "corpus", name), PLACE) for name in ("first", "second", "third")]


def kept(cells: Sequence[CaseCell], *new: tuple[int, Status], restart: bool = False, finish: bool = False) -> set[int]:
    """What the journal has of the cells, before it gets something new."""
    corpus = cells[0].case.folder.parent
    with replay_journal(corpus, cells, restart=restart, here=True, say=lambda text: None) as journal:
        found = {*journal.found}
        for index, status in new:
            journal.found[index] = outcome(cells[index].case, status, seconds=2.0)
            journal.keep(index, journal.found[index])
        if finish:
            journal.finish()
    return found


def test_what_was_run_is_there_again_until_all_is(cells: list[CaseCell]) -> None:
    assert kept(cells, (0, Status.FAULTS)) == set()
    assert kept(cells, (2, Status.FIXED)) == {0}
    assert kept(cells, finish=True) == {0, 2}
    assert kept(cells) == set() and not cells[0].case.folder.parent.with_name("corpus.replay").exists()


def test_what_could_not_be_run_is_asked_again(cells: list[CaseCell]) -> None:
    kept(cells, (0, Status.FAULTS), (1, Status.CANNOT), (2, Status.BROKEN))
    assert kept(cells) == {0}
    assert kept(cells, restart=True) == set() == kept(cells)


def test_it_is_of_these_cases_as_they_are_and_of_this_place(cells: list[CaseCell]) -> None:
    kept(cells, (0, Status.FAULTS))
    for other in (cells[:2], [replace(each, runs=3) for each in cells]):
        assert kept(other) == set()
    assert kept([replace(each, where=replace(PLACE, arch=80)) for each in cells]) == set()
    assert kept(cells) == {0}
    with open(cells[1].case.repro, "a") as file:
        file.write("# edited\n")
    assert kept(cells) == set()


def test_other_versions_say_nothing_of_these(cells: list[CaseCell], monkeypatch: pytest.MonkeyPatch) -> None:
    kept(cells, (0, Status.FAULTS))
    monkeypatch.setattr(journals, "versions", lambda *where, gpu: {"triton": "9.9"})
    assert kept(cells) == set()


def test_lines_of_another_shape_are_left_out(cells: list[CaseCell]) -> None:
    kept(cells, (0, Status.FAULTS), (1, Status.FLAKY))
    (path,) = cells[0].case.folder.parent.with_name("corpus.replay").iterdir()
    lines = path.read_bytes().splitlines(keepends=True)
    odd = [sealed({"event": "outcome", "cell": 7, "row": {}}), sealed({"event": "outcome"})]
    path.write_bytes(lines[0] + lines[1].replace(b"faults", b"fixed!") + b"".join(odd) + lines[2] + lines[2][:9])
    assert kept(cells) == {1}


def test_two_at_once_and_a_place_that_cannot_be_written_keep_nothing(cells: list[CaseCell], tmp_path: Path) -> None:
    with replay_journal(tmp_path / "corpus", cells, restart=False, here=True, say=lambda text: None) as one:
        with replay_journal(tmp_path / "corpus", cells, restart=False, here=True, say=lambda text: None) as other:
            other.keep(0, outcome(cells[0].case, Status.FAULTS))
            assert other.left_words(3) == "nothing is kept: another replay of the same is at work"
            other.finish()
        assert one.path.exists()
    (tmp_path / "corpus.replay").write_text("a file")
    with replay_journal(tmp_path / "corpus", cells, restart=False, here=True, say=lambda text: None) as none:
        none.keep(0, outcome(cells[0].case, Status.FAULTS))
        assert none.left_words(3).startswith("nothing is kept: cannot write ")

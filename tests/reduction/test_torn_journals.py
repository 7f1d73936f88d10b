"""Journals as crashes and bad disks leave them: nothing is thrown, and no text of best.py is lost."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shrinkray_gpu.attachment import course
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.reduction.journal import Journal
from shrinkray_gpu.reduction.program import Program
from tests.damage import damaged
from tests.reduction.test_journal import FAULTS, ORIGINAL, PASSES, SMALLER, SMALLEST, UNKNOWN, begin, lifted

LARGER = Program.from_text("a = 1\nb = 2\nd = 4\n", "failing.py")
STRANGE = "z = 0\n"
"""Smaller than all others, and none that the journal tells of."""
OLDER = (ORIGINAL.text, SMALLER.text)
"""What a kill may leave there: the course goes on to something smaller."""


def course_of(journal: Journal, *, faults: bool) -> None:
    """A reduction as the engine does it, resumed or not. `faults`: whether a best.py that is not ours does."""
    if journal.recall_lift() is None:
        journal.record_lift(lifted(LARGER.text))
    journal.recall_perturbation()
    journal.begin_with(LARGER, size=LARGER.size)
    start = journal.start(ORIGINAL)
    edited = journal.hand_edit(ORIGINAL)
    if edited is not None and faults:
        journal.take_over(edited)
        start = edited
    elif edited is not None:
        journal.put_back(start)
    for key, verdict in (("k1", PASSES), ("k2", FAULTS), ("k3", UNKNOWN), ("k2", FAULTS)):
        if journal.recall(key) is None:
            journal.record_verdict(key, verdict)
    if journal.recall_values("k2") is None:
        journal.record_values("k2", {1: "64"})
    for program in (SMALLER, SMALLEST):
        if program.size < start.size:
            journal.best(program, size=program.size, by="statements")
    if start in (ORIGINAL, LARGER):
        journal.roll_back(SMALLER, size=SMALLER.size, by="controls", why="it passes in a cold process")
        journal.record_drift()
        journal.record_answer("confirmed", "k2", FAULTS)
        journal.best(SMALLEST, size=SMALLEST.size, by="statements")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[bytes, Path]]:
    """A journal of everything, and a folder for the torn ones. The machine stays up: nothing waits for the disk."""
    folder = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda descriptor: None)
        with begin(folder) as journal:
            journal.record_perturbation({"knob": "num_warps"})
            course_of(journal, faults=True)
        yield (folder / "journal.jsonl").read_bytes(), tmp_path_factory.mktemp("torn")


@settings(max_examples=2000, deadline=None, derandomize=True, database=None)
@given(st.data())
def test_no_damage_is_thrown_and_none_loses_the_best(whole: tuple[bytes, Path], data: st.DataObject) -> None:
    journal, folder = whole
    shutil.rmtree(folder)
    folder.mkdir()
    best = data.draw(st.sampled_from([SMALLEST.text, STRANGE, *OLDER]))
    (folder / "best.py").write_text(best)
    (folder / "journal.jsonl").write_bytes(data.draw(damaged(journal)))
    course.read(folder / "journal.jsonl")
    how = data.draw(st.sampled_from(["resume", "resume", "resume", "restart", ""]))
    try:
        with begin(folder, **({how: True} if how else {})) as opened:
            course_of(opened, faults=data.draw(st.booleans()))
    except UsageError as refused:
        assert "\n" not in str(refused)
        assert (folder / "best.py").read_text() == best, "a refusal touches nothing"
    texts = [path.read_text() for path in folder.rglob("*.py")]
    assert any(text.endswith(best) for text in texts) or best in OLDER, (texts, best)

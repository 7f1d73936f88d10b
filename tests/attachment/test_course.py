"""How a size fell, as a journal tells it."""

from __future__ import annotations

import json
from pathlib import Path

from shrinkray_gpu.attachment.course import CoursePoint, by_pass, read

LINES = [
    {"shrink": "1", "format": 1},
    {"event": "judged", "key": "a", "answer": "faults"},
    {"event": "accept", "size": [0, 80, 1, 0, 0], "pass": "statements", "at": 1.5},
    {"event": "judged", "key": "b", "answer": "passes"},
    {"event": "judged", "key": "c", "answer": "faults"},
    {"event": "accept", "size": [0, 90, 1, 0, 0], "pass": "rollback", "at": 2.0},
    {"event": "accept", "size": [0, 60, 1, 0, 0], "pass": "statements", "at": 3.25},
]


def test_a_step_for_each_accept(tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    journal.write_text("".join(json.dumps(line) + "\n" for line in LINES) + '{"event": "acc')
    steps = read(journal)
    assert steps[0] == CoursePoint(1.5, 1, 80, "statements") and steps[-1] == CoursePoint(3.25, 3, 60, "statements")
    assert by_pass(steps, 100) == {"statements": 50}


def test_no_journal_tells_nothing(tmp_path: Path) -> None:
    assert read(tmp_path / "gone.jsonl") == ()

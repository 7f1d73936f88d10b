"""A pytest that is run here, and how it ends."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from shrinkray_gpu.triage.reruns import TriagePlace
from shrinkray_gpu.triage.session import run_session


def session(folder: Path, test: str, *words: str) -> tuple[list[str], list[str]]:
    """The messages of its failures, and what is told."""
    (folder / "test_it.py").write_text(f"import os, time\ndef test_it(): {test}\n")
    said: list[str] = []
    place = TriagePlace(sys.executable, None, {}, folder, 60.0)
    found = run_session([*words, "test_it.py"], place, folder / "session.jsonl", said.append)
    return [each.message for each in found], said


def test_a_signal_without_a_name_is_told_by_its_number(tmp_path: Path) -> None:
    found, _ = session(tmp_path, "os.kill(os.getpid(), 36)")
    assert found == ["the process died of signal 36 while test_it.py::test_it ran"]


def test_what_leaves_no_test_out_is_not_begun_for_ever(tmp_path: Path) -> None:
    """The workers of pytest-xdist run each test again. pytest dies once it has written that this one began."""
    pytest.importorskip("xdist")
    kill = """
    while b"started" not in open("session.jsonl", "rb").read().splitlines()[-1]:
        time.sleep(0.01)
    os.kill(os.getppid(), 9)
    time.sleep(60)"""
    found, said = session(tmp_path, kill, "-n", "1")
    assert found == ["the process died of SIGKILL while test_it.py::test_it ran"]
    assert "pytest died of SIGKILL in test_it.py::test_it once more" in said[2]

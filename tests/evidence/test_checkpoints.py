"""Which instruments a checkpoint asks. What they say is for tests/gpu/test_dumps.py: without a GPU none dumps."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from shrinkray_gpu.evidence import checkpoints, examine
from shrinkray_gpu.evidence.checkpoints import Checkpoints
from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Script

BARE = Fault("device", "an illegal memory access was encountered", code=700)
TOLD = replace(BARE, kernel="scale", instruction="STG")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The instruments asked, in order. A dump of `read` tells the instruction, one of any other text nothing."""
    asked: list[str] = []

    def by_dump(text: str, *_: object, **__: object) -> tuple[Fault | None, bool]:
        asked.append("dump")
        return (TOLD, False) if text == "read" else (BARE, True)

    def by_record(text: str, *_: object, dumped: Fault | None, **__: object) -> Fault | None:
        asked.append("record")
        return TOLD

    monkeypatch.setattr(examine, "by_dump", by_dump)
    monkeypatch.setattr(examine, "by_record", by_record)
    return asked


def of(folder: Path, arch: int | None = None) -> Checkpoints:
    setup = Setup(sys.executable, {}, imports=(), own=(), scratch=str(folder), arch=arch)
    return Checkpoints(Script(folder / "a.py", cwd=folder), setup, 60.0, None)


def test_a_dump_that_is_read_needs_no_sanitizer(asked: list[str], tmp_path: Path) -> None:
    assert of(tmp_path).fault("read") == TOLD
    assert asked == ["dump"]


def test_after_some_that_nobody_could_read_no_dump_is_made(asked: list[str], tmp_path: Path) -> None:
    one = of(tmp_path)
    assert [one.fault("gone") for _ in range(4)] == [TOLD] * 4
    assert asked == ["dump", "record"] * checkpoints.ENOUGH + ["record"] * (4 - checkpoints.ENOUGH)


def test_one_that_is_read_begins_the_count_anew(asked: list[str], tmp_path: Path) -> None:
    one = of(tmp_path)
    for text in ("gone", "read", "gone", "gone", "read"):
        one.fault(text)
    assert asked == ["dump", "record", "dump", "dump", "record", "dump", "record", "record"]

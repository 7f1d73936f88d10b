"""Which instruments a checkpoint asks. What they say is for tests/gpu/test_dumps.py: without a GPU none dumps."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from shrinkray_gpu.evidence.dump_runs import is_unread
from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Script
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.same_fault import checkpoints
from shrinkray_gpu.same_fault.checkpoints import Checkpoints, likelier

BARE = Fault("device", "an illegal memory access was encountered", code=700)
LIMIT = 60.0
TOLD = replace(BARE, kernel="scale", instruction="STG")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The instruments asked, in order. A dump of `read` tells the instruction, one of any other text nothing."""
    asked: list[str] = []

    def by_dump(text: str, *_: object, **__: object) -> tuple[Fault | None, bool]:
        asked.append("dump")
        return (TOLD, False) if text == "read" else (BARE, True)

    def by_record(text: str, *_: object, seconds: float) -> Fault | None:
        asked.append("record" if seconds == LIMIT else f"record in {seconds:g} s")
        return TOLD

    monkeypatch.setattr(checkpoints, "by_dump", by_dump)
    monkeypatch.setattr(checkpoints, "by_record", by_record)
    return asked


def of(folder: Path) -> tuple[Checkpoints, Script]:
    setup = Setup(sys.executable, {}, imports=(), own=(), scratch=str(folder))
    return Checkpoints(setup, LIMIT), Script(folder / "a.py", cwd=folder)


def test_a_dump_that_is_read_needs_no_sanitizer(asked: list[str], tmp_path: Path) -> None:
    one, script = of(tmp_path)
    assert [one.fault("read", script) for _ in range(2)] == [TOLD] * 2
    assert asked == ["dump", "dump"]


def test_after_one_that_nobody_could_read_no_dump_is_made(asked: list[str], tmp_path: Path) -> None:
    one, script = of(tmp_path)
    assert [one.fault(text, script) for text in ("read", "gone", "gone", "read")] == [TOLD] * 4
    assert asked == ["dump", "dump", "record", "record", "record"]


def test_the_sanitizer_gets_time_by_what_a_run_took(asked: list[str], tmp_path: Path) -> None:
    one, script = of(tmp_path)
    for seconds in (5.0, 300.0):
        one.fault("gone", script, Run("cold", 1, seconds=seconds))
    assert asked == ["dump", "record in 5 s", "record"]


@pytest.mark.parametrize(
    ("answer", "then"), [((TOLD, False), []), ((None, True), ["record"]), ((None, False), ["dump", "record"])]
)
def test_a_dump_in_a_lane_comes_first(
    asked: list[str], tmp_path: Path, answer: tuple[Fault | None, bool], then: list[str]
) -> None:
    """One that was written there, and not read, is not made once more by a process of its own."""

    class InLane:
        def fault(self, text: str) -> tuple[Fault | None, bool]:
            asked.append("lane")
            return answer

    one, script = of(tmp_path)
    assert replace(one, lanes=InLane()).fault("gone", script) == TOLD  # type: ignore[arg-type]
    assert asked == ["lane", *then]


def test_what_another_thread_reads_later_does_not_bring_the_dumps_back(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    one, script = of(tmp_path)
    begun, read = threading.Event(), threading.Event()

    def by_dump(text: str, *_: object, **__: object) -> tuple[Fault | None, bool]:
        if text == "gone":
            return BARE, True
        begun.set()
        read.wait(10)
        return TOLD, False

    monkeypatch.setattr(checkpoints, "by_dump", by_dump)
    monkeypatch.setattr(checkpoints, "by_record", lambda *_, **__: TOLD)
    with ThreadPoolExecutor(1) as threads:
        slow = threads.submit(one.fault, "read", script)
        begun.wait(10)
        one.fault("gone", script)
        read.set()
        assert slow.result() == TOLD
    assert one.unread


@pytest.mark.parametrize(
    ("recorded", "dumped", "wanted"),
    [
        (TOLD, None, TOLD),
        (TOLD, BARE, TOLD),
        (TOLD, replace(BARE, kernel="scale"), TOLD),
        (TOLD, replace(BARE, kernel="other"), replace(BARE, kernel="other")),
        (BARE, replace(BARE, kernel="scale"), replace(BARE, kernel="scale")),
        (None, BARE, BARE),
        (None, None, None),
    ],
)
def test_the_sanitizer_is_not_believed_of_another_kernel(
    recorded: Fault | None, dumped: Fault | None, wanted: Fault | None
) -> None:
    assert likelier(recorded, dumped) == wanted


def test_only_an_access_has_an_instruction_that_a_dump_may_owe() -> None:
    assert is_unread(BARE) and is_unread(replace(BARE, code=716)) and is_unread(replace(BARE, kernel="scale"))
    assert not is_unread(TOLD) and not is_unread(replace(BARE, code=710)) and not is_unread(None)

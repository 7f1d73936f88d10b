"""The list of watchers: what each one says where nobody asks for it, and that all are ended whatever fails."""

from __future__ import annotations

import builtins
import dataclasses
import os
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from shrinkray_gpu.runner.inside import candidate_run
from shrinkray_gpu.runner.inside.watchers import WATCHERS, WatchedCandidate
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.reports import Report, report_problem
from shrinkray_gpu.runner.request import Request, RunSettings
from shrinkray_gpu.runner.run import Run
from tests.runner.inside.forked import forked

Work = Callable[[WatchedCandidate], dict[str, Any]]


def candidate(folder: Path, *, source: str = "", **asked: Any) -> WatchedCandidate:
    """A candidate without a GPU, real or virtual, and the request's answers to what is not `asked` for."""
    setup = Setup(
        python=sys.executable,
        environment={},
        imports=(),
        own=(),
        scratch=str(folder),
        writable=(str(folder / "builds"),),
    )
    request = Request(source, str(folder / "script.py"), cwd=str(folder))
    theirs, _ = socket.socketpair()
    message = {**request.message(), **RunSettings(**asked).message(), "temporary": str(folder), "number": 1}
    return WatchedCandidate(message, setup.message(), theirs)


def run(watched: WatchedCandidate) -> dict[str, Any]:
    return candidate_run.run(watched.request, watched.setup, watched.link)


EVERYTHING: dict[str, Any] = {
    "watch": True,
    "values": True,
    "capture": "values",
    "knobs": {"num_stages": "1", "llvm": "0"},
    "observe": "outputs",
    "tell": True,
}


@pytest.mark.parametrize("asked", [{"watch": False}, {}, EVERYTHING], ids=["nothing", "launches", "everything"])
def test_the_report_has_the_same_keys_whatever_was_asked_for_and_they_make_a_run(
    tmp_path: Path, asked: dict[str, Any]
) -> None:
    report = forked(tmp_path, lambda: run(candidate(tmp_path, **asked)))
    assert report_problem({**report, "fresh": True, "over": ""}) == ""
    assert set(report) | {"fresh", "over"} == set(Report.__annotations__)
    assert set(report) <= {field.name for field in dataclasses.fields(Run)}
    made = Run.from_json({**report, "mode": "cold"})
    assert (made.exit, made.failure, bool(made.captured)) == (0, None, asked is EVERYTHING)


def _files() -> list[str]:
    places = (f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd"))
    return sorted(os.readlink(place) for place in places if os.path.exists(place))


def _state() -> dict[str, Any]:
    """What watchers change in a process: variables, the function that scripts tell their values, open files."""
    return {
        "environment": dict(os.environ),
        "builtins": sorted(vars(builtins)),
        "files": _files(),
    }


@pytest.mark.parametrize("failing", range(len(WATCHERS) + 1))
def test_what_had_begun_is_ended_though_the_next_one_fails(
    tmp_path: Path, failing: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def broken(_: WatchedCandidate) -> Iterator[None]:
        raise RuntimeError("this one cannot begin")
        yield

    monkeypatch.setattr(candidate_run, "WATCHERS", (*WATCHERS[:failing], broken, *WATCHERS[failing:]))

    def work() -> dict[str, Any]:
        os.environ["TMPDIR"] = str(tmp_path)  # a run sets it for good: the lane restores it
        before, trouble = _state(), ""
        try:
            run(candidate(tmp_path, **EVERYTHING))
        except RuntimeError as error:
            trouble = str(error)
        return {"trouble": trouble, "before": before, "after": _state()}

    said = forked(tmp_path, work)
    assert said["trouble"] == "this one cannot begin"
    assert said["after"] == said["before"]


def test_what_is_asked_of_the_driver_comes_before_anything_is_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from shrinkray_gpu.runner.inside.process import device

    monkeypatch.setattr(device, "sticky", lambda: 716 if "TRITON_ALWAYS_COMPILE" in os.environ else 0)
    report = forked(tmp_path, lambda: run(candidate(tmp_path, values=True)))
    assert report["driver_error"] == 716


def test_a_watcher_sees_the_end_of_the_script_before_another_one_ends(tmp_path: Path) -> None:
    seen: list[str] = []

    @contextmanager
    def mine(watched: WatchedCandidate) -> Iterator[None]:
        watched.when_ended(lambda: seen.append("the script ended"))
        yield
        seen.append("a watcher ended")

    def work() -> dict[str, Any]:
        candidate_run.WATCHERS = (*WATCHERS, mine)
        run(candidate(tmp_path))
        return {"seen": seen}

    assert forked(tmp_path, work)["seen"] == ["the script ended", "a watcher ended"]

"""`shrink triage -- pytest ARGS`: the tests are run here, and those that fail are the failures.

A test may end the whole process. It is the one that failed then, and a new process goes on with the tests after it.
"""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from shrinkray_gpu.command.pytest_settings import seen_from
from shrinkray_gpu.device.own_commands import run_command
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.triage import session_record
from shrinkray_gpu.triage.reading import collection_error
from shrinkray_gpu.triage.reported import ReportedFailure
from shrinkray_gpu.triage.reruns import TriagePlace
from shrinkray_gpu.triage.session_record import DIED, ENDED, FAILED, OVER, SESSION, STARTED, events

_RAN = (0, 1, 5)
"""Exit codes of pytest: all passed, some failed, none is left to run."""
_LAST = 8000
"""Characters of what it says before it dies that are kept: a stack of each thread may be among them."""


def run_session(
    args: Sequence[str], place: TriagePlace, record: Path, say: Callable[[str], None]
) -> list[ReportedFailure]:
    """The failures of `python -m pytest ARGS`, run as its user runs it. Tests that `record` tells of are not run again.
    Raises UsageError where no test was run."""
    words = [place.python, session_record.__file__, str(record.absolute()), *args]
    say(f"running pytest {' '.join(args)} ...")
    while True:
        before = len(events(str(record))) if record.exists() else 0
        try:
            done = run_command(
                words,
                cwd=place.cwd,
                env=place.variables,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
            )
        except OSError as error:
            raise UsageError(f"cannot run {place.python}: {error.strerror}") from error
        told = events(str(record)) if record.exists() else []
        running = _running(told[before:])
        if any(each["event"] == OVER for each in told[before:]) or not running:
            break
        died = _ending(done.returncode)
        if any(each["event"] == DIED and each["node"] == running for each in told):
            say(f"pytest {died} in {running} once more: it does not leave out what it ran, so no new one goes on")
            break
        say(f"pytest {died} in {running}: a new one goes on with the tests after it")
        end = {"event": DIED, "node": running, "exit": done.returncode, "text": done.stderr[-_LAST:]}
        with open(record, "ab") as file:
            file.write(json.dumps(end).encode() + b"\n")
    if not any(each["event"] in (ENDED, DIED, FAILED) for each in told):
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        said = lines[-1] if lines else "it said nothing"
        raise UsageError(f"pytest {' '.join(args)} ran no test (exit code {done.returncode}): {said}")
    if done.returncode not in _RAN:
        say(f"pytest {_ending(done.returncode)}: there may be more failures than it wrote down")
    return failures_in(record, place)


def _running(told: Sequence[Mapping[str, Any]]) -> str:
    """The test that began and did not end."""
    open_ones: dict[str, None] = {}
    for each in told:
        if each["event"] == STARTED:
            open_ones[each["node"]] = None
        elif each["event"] == ENDED:
            open_ones.pop(each["node"], None)
    return next(reversed(open_ones), "")


def _ending(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    names = {int(each): each.name for each in signal.Signals}
    return f"died of {names.get(-code, f'signal {-code}')}"  # most real-time signals have no name


def failures_in(record: Path, place: TriagePlace) -> list[ReportedFailure]:
    """What a record tells of, be the session over or not: each test once, with what it failed by first."""
    root = place.settings.root(place.cwd)
    found: dict[str, ReportedFailure] = {}
    for each in events(str(record)) if record.exists() else []:
        if each["event"] == SESSION:
            root = root or Path(each["root"])
        elif each["event"] == FAILED:
            message = collection_error(each["message"], each["text"])
            found.setdefault(each["node"], _seen_from(place.cwd, root, each["node"], message, each["text"], None))
        elif each["event"] == DIED:
            message = f"the process {_ending(each['exit'])} while {each['node']} ran"
            found[each["node"]] = _seen_from(place.cwd, root, each["node"], message, each["text"], each["exit"])
    return list(found.values())


def _seen_from(cwd: Path, root: Path | None, node: str, message: str, text: str, code: int | None) -> ReportedFailure:
    here = seen_from(cwd, node, root)
    return ReportedFailure(here, "pytest", message, text, here if "::" in node else "", died=code)

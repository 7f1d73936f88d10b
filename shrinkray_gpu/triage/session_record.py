"""Runs pytest, and writes down each test as it ends: what was seen is there whatever becomes of the process.

    python session_record.py RECORD pytest-args...

It runs in the user's interpreter, so it needs nothing but pytest. RECORD has a JSON object a line; tests that it says
ended, by an earlier process, are left out.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import pytest

STARTED, FAILED, ENDED, SESSION, OVER, DIED = "started", "failed", "ended", "session", "over", "died"
"""What a line is about. DIED is written by who started this process."""


class SessionRecord:
    """A plugin of one session."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        self._earlier = {each["node"] for each in events(path) if each["event"] in (ENDED, DIED)}
        self._is_main = True

    def _write(self, event: str, **told: object) -> None:
        if self._is_main:
            os.write(self._file, json.dumps({"event": event, **told}).encode() + b"\n")

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self._is_main = not hasattr(session.config, "workerinput")  # of pytest-xdist
        self._write(SESSION, root=str(session.config.rootpath))

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        left_out = [item for item in items if item.nodeid in self._earlier]
        if left_out:
            config.hook.pytest_deselected(items=left_out)
            items[:] = [item for item in items if item.nodeid not in self._earlier]

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._write(FAILED, node=report.nodeid, message="collection failure", text=str(report.longrepr))

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._write(STARTED, node=nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            crash: Any = getattr(report.longrepr, "reprcrash", None)
            message = str(report.longrepr) if crash is None else crash.message
            if report.when != "call":
                message = f'failed on {report.when} with "{message}"'  # as junit.xml has it
            self._write(FAILED, node=report.nodeid, message=message, text=str(report.longrepr))

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self._write(ENDED, node=nodeid)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        self._write(OVER)


def events(path: str) -> list[dict[str, Any]]:
    """What a record tells. A line that is cut off tells nothing."""
    found = []
    with open(path, "rb") as file:
        for line in file:
            try:
                found.append(json.loads(line))
            except ValueError:
                continue
    return found


if __name__ == "__main__":
    sys.path[0] = os.getcwd()  # as `python -m pytest` has it
    record = SessionRecord(sys.argv[1])
    sys.argv[:] = [pytest.__file__, *sys.argv[2:]]
    sys.exit(pytest.main(plugins=[record]))

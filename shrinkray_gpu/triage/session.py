"""`shrink triage -- pytest ARGS`: the tests are run here, and those that fail are the failures."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from shrinkray_gpu.command.pytest_settings import seen_from
from shrinkray_gpu.device.own_commands import run_command
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.triage.reading import read_all
from shrinkray_gpu.triage.reported import ReportedFailure
from shrinkray_gpu.triage.reruns import TriagePlace

_ROOT = re.compile(r"^rootdir: (.*?)(?:, \w+: .*)?$", re.MULTILINE)
"""In the header of a session."""
_RAN = (0, 1)
"""Exit codes of pytest: all passed, some failed."""


def run_session(args: Sequence[str], place: TriagePlace, say: Callable[[str], None]) -> list[ReportedFailure]:
    """The failures of `python -m pytest ARGS`, run as its user runs it. Raises UsageError where no test was run."""
    with tempfile.TemporaryDirectory(prefix="shrink-") as folder:
        written = Path(folder, "junit.xml")
        words = [place.python, "-m", "pytest", *args, f"--junitxml={written}", "-o", "junit_family=xunit1"]
        say(f"running pytest {' '.join(args)} ...")
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
        root = place.settings.root(place.cwd)
        if root is None and (told := _ROOT.search(done.stdout)):
            root = Path(told[1])
        found = read_all([written], root or place.cwd) if written.is_file() else []
        if not found and done.returncode != 0:
            lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
            said = lines[-1] if lines else "it said nothing"
            raise UsageError(f"pytest {' '.join(args)} ran no test (exit code {done.returncode}): {said}")
        if done.returncode not in _RAN:
            say(f"pytest ended with exit code {done.returncode}: there may be more failures than it wrote down")
        return [_seen_from(place.cwd, each, root) for each in found]


def _seen_from(cwd: Path, told: ReportedFailure, root: Path | None) -> ReportedFailure:
    node = seen_from(cwd, told.node, root) if told.node else ""
    return ReportedFailure(node or told.name, "pytest", told.message, told.text, node)

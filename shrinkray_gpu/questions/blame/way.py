"""How a program came to its fault: its own lines, the outermost first."""

from __future__ import annotations

import re
from collections.abc import Iterator

from shrinkray_gpu.evidence.source_places import folders_of, is_of_triton
from shrinkray_gpu.evidence.source_text import name_below
from shrinkray_gpu.oracle.cause_check import faulting_launch
from shrinkray_gpu.oracle.speech import frames
from shrinkray_gpu.runner.pool import Script
from shrinkray_gpu.runner.run import Run

MOST = 6
"""Lines that are told: the first and the last ones."""
_INSTALLED = re.compile(r"/(?:site|dist)-packages/|/lib/python3[^/]*/|^<")


def way(run: Run, script: Script | None = None) -> str:
    """`train.py:40, nets/model.py:12 launches the kernel`; empty where nothing is known of it. Files are named by
    their paths below the folders of `script`.

    A device fault comes up wherever the host waits next, so of that only the line of the launch is told.
    """
    broken = faulting_launch(run) or next((launch for launch in run.launches if launch.fault), None)
    if broken is not None:
        return f"{broken.host} launches {broken.kernel}" if broken.host else ""
    if run.failure is None:
        return ""
    lines = list(dict.fromkeys(own_lines(run.failure.traceback, script)))
    shown = lines if len(lines) <= MOST else [*lines[:2], f"{len(lines) - MOST} lines more", *lines[2 - MOST :]]
    return ", ".join(shown)


def raised_at(run: Run, script: Script | None = None) -> str:
    """The program's own innermost line of what ended it: `rows.py:2`; empty where there is none."""
    lines = list(own_lines(run.failure.traceback, script)) if run.failure is not None else []
    return lines[-1] if lines else ""


def installed_in(run: Run) -> str:
    """The innermost line of an installed package below the program's own last one, of what ended the program; empty
    where no package is there. Python's own library is none."""
    for file, line, _ in reversed(frames(run.failure.traceback) if run.failure is not None else []):
        if "-packages/" in file:
            return f"{file.rpartition('-packages/')[2]}:{line}"
        if not _INSTALLED.search(file):
            break
    return ""


def own_lines(traceback: str, script: Script | None) -> Iterator[str]:
    """The program's own lines of a traceback, the outermost first. What is raised last is raised on the way of what was
    raised first, so the last traceback has the whole way."""
    folders = folders_of(script) if script is not None else ()
    last = traceback.rpartition("Traceback (most recent call last)")[2]
    for file, line, _ in frames(last):
        driver = script is not None and script.name and file == str(script.path)  # of a command, ours
        if not (driver or _INSTALLED.search(file) or is_of_triton(file)):
            yield f"{name_below(file, folders)}:{line}"

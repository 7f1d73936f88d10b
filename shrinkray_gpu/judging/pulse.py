"""Whether anything that is run answers still: a GPU that is lost, or a driver that hangs, ends no candidate.

Each candidate has its time limit, and one that comes to it tells nothing. A search would go on so for hours, and pass
over all that could be taken away.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

from shrinkray_gpu.errors import LanesLost
from shrinkray_gpu.runner.request import Request
from shrinkray_gpu.runner.run import Run

PATIENCE = 60.0
"""Seconds that this program has at least, the second time: beside other jobs one of half a second took more than its
limit of three on an H100, and the GPU was well."""
SILENT = 6
"""Runs in a row that tell nothing, before a program is run again that did tell something."""
EMPTY = "pass\n"
"""The program that is run where none told anything yet, or may hang by chance."""


class Pulse:
    """Takes note of runs, in any number of threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answered: Request | None = None
        self._silent = 0

    def note(self, request: Request, run: Run, again: Callable[[Request, float], Run], *, steady: bool = True) -> None:
        """`again` runs a program once more, with its limit or so many seconds, if that is more. `steady`: one that
        answered before does so each time, and does not hang by chance. Else an empty one is run. Raises LanesLost
        where that does not answer."""
        with self._lock:
            if _answers(run):
                self._answered, self._silent = request, 0
                return
            self._silent += 1
            if self._silent < SILENT:
                return
            self._silent = 0  # the others need not ask, too
            known = self._answered if steady and self._answered else replace(request, source=EMPTY)
        for least in (0.0, PATIENCE):
            last = again(known, least)
            if _answers(last):
                return
        why = last.trouble or f"it was stopped after {last.seconds:.0f} s"
        raise LanesLost(
            f"nothing that is run gives an answer any more, not even a program that should ({why}). The GPU may be "
            "lost (nvidia-smi), or the machine overloaded. Go on with the same command and --resume when it is well"
        )


def _answers(run: Run) -> bool:
    return not run.timed_out and not run.trouble

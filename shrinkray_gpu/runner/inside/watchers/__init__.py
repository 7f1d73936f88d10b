"""What watches a candidate while it runs: `WATCHERS`, in the order in which they begin. They end in reverse.

A watcher is a context manager for one `WatchedCandidate`. It installs what it needs, lets the candidate run, undoes all
of it (also where something else failed: the undoing stands in a `finally`), and adds its keys to the report.

To add one:

1. Write a file here with a generator `watch(candidate)` under `@contextmanager`. `knobs.py` is a short example. Where
   the request does not ask for it, it only puts the value that says so under its key, and yields.
2. Add one line to `WATCHERS`. What it wraps around a function of Triton or torch stands outside of what the watchers
   before it wrapped, and goes first.
3. Give `runner.run.Run` a field of each key's name, and `runner.request.RunSettings` one for what asks for it.
4. Add a test to tests/runner/inside/test_watchers.py, which runs through the list.

A watcher imports what it needs when it is asked for, not before: a cold process has no time to lose, and nothing may
be imported ahead of a script without need.
"""

from __future__ import annotations

from typing import Callable, ContextManager, Tuple

from . import (
    builds,
    capture,
    child_processes,
    comparison,
    constants,
    gpu,
    hang,
    knobs,
    known_launches,
    launch_outputs,
    launches,
    writes,
)
from .candidate import WatchedCandidate

__all__ = ["WATCHERS", "WatchedCandidate"]

Watcher = Callable[[WatchedCandidate], ContextManager[None]]

WATCHERS: Tuple[Watcher, ...] = (
    writes.watch,  # writes
    constants.watch,  # values
    known_launches.watch,  # before all that wraps the interpreter: they see each launch, run or known
    launches.watch,  # compiles, launches; the log that most of the others listen to
    capture.watch,  # captured
    child_processes.watch,  # after the capture, whose folder children write to
    comparison.watch,  # comparison; before the virtual GPU, whose mode hands on what it computes
    knobs.watch,  # turned
    launch_outputs.watch,  # differences, incomparable
    builds.watch,  # builds
    hang.watch,  # answers on the link, and not in the report
    gpu.watch,  # driver_error, virtual; the last to begin, since the driver is asked before anything is undone
)

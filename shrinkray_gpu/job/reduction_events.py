"""The events of a reduction (`shrinkray_gpu.events`), made of what its parts report."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from shrinkray_gpu.events import Best, Hear, Lifted, Reproduced, SearchProgress, Started, nobody
from shrinkray_gpu.evidence.versions import __version__
from shrinkray_gpu.job.ready import Ready
from shrinkray_gpu.judging.tiered_test import TieredTest
from shrinkray_gpu.options import Options
from shrinkray_gpu.reduction.outcome import ProgressEvent
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.size import lines

EVERY = 1.0
"""Seconds between two events that only say how it goes."""
HearStep = Callable[[ProgressEvent, TieredTest], None]


def started(path: Path, options: Options, program: Program, places: tuple[Path, Path] | None) -> Started:
    """`places` are those of the result and of everything else; None where nothing is written."""
    output, folder = map(str, places) if places else ("", "")
    name = options.command.command_line if options.command else str(path)
    return Started(__version__, name, output, folder, lines(program.text), program.size.tokens)


def tell_ready(ready: Ready, hear: Hear) -> None:
    """With what the search begins, and how surely the original shows the fault."""
    start, seen = ready.start, ready.plan.seen
    hear(Lifted(start.lifted, start.told, lines(ready.program.text), ready.program.size.tokens))
    hear(Reproduced(ready.plan.oracle.spec, seen.faulted, seen.runs, ready.plan.mode.name))


def heard_by(progress: HearStep, hear: Hear, best: Path) -> HearStep:
    """The listener to the engine's steps, and the one to events, as one. `best`: the file of the best program."""
    if hear is nobody:
        return progress
    events = SearchEvents(hear, best)

    def heard(event: ProgressEvent, test: TieredTest) -> None:
        progress(event, test)
        events.show(event, test)

    return heard


class SearchEvents:
    """Each better program, and now and then how it goes."""

    def __init__(self, hear: Hear, best: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.hear, self.best, self.clock = hear, best, clock
        self.size: tuple[int, int] | None = None
        """Lines and tokens of the best program, which a candidate at hand may exceed."""
        self.told = clock()

    def show(self, event: ProgressEvent, test: TieredTest) -> None:
        if self.size is None or event.kind in ("accepted", "rolled back"):
            self.size = lines(event.program.text), event.program.size.tokens
        if event.kind in ("accepted", "rolled back"):
            self.hear(Best(str(self.best), *self.size, event.pass_name, event.tries, event.kind == "rolled back"))
        elif self.clock() - self.told >= EVERY:
            self.told = self.clock()
            self.hear(SearchProgress(*self.size, event.round, event.pass_name, dict(test.tries)))

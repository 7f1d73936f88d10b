"""What the user sees while the search goes on: one tqdm bar on a terminal, a line every ten seconds in a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

from tqdm import tqdm

from shrinkray_gpu.judging.tiered_test import TieredTest
from shrinkray_gpu.reduction.outcome import ProgressEvent
from shrinkray_gpu.reduction.size import lines

EVERY = 10.0
"""Seconds between two lines where there is no terminal."""
REDRAW = 0.1
"""Seconds between two drawings of the bar: some waves take a millisecond."""
STEPS = ("accepted", "rolled back", "note", "round")


class Progress:
    """How much of the program is gone, and what it takes.

    The size is that of the best program saved, not of the candidate at hand: a trial may grow it for a while.
    """

    def __init__(
        self,
        best: Path,
        *,
        verbose: bool = False,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.best, self.verbose, self.clock = best, verbose, clock
        self.stream: TextIO = stream or sys.stderr
        self.terminal = self.stream.isatty()
        self.bar: tqdm[Any] | None = None
        self.total = self.tokens = self.lines = 0
        self.started = self.drawn = 0.0

    def show(self, event: ProgressEvent, test: TieredTest) -> None:
        """One event of the engine."""
        now = self.clock()
        if not self.total:
            self._begin(event, now)
        if event.kind in ("accepted", "rolled back"):
            self.tokens, self.lines = event.program.size.tokens, lines(event.program.text)
        if event.kind == "rolled back" or (self.verbose and event.kind in STEPS):
            self._write(self._step(event, now - self.started))
        if now - self.drawn >= (REDRAW if self.bar is not None else EVERY):
            self.drawn = now
            self._draw(event, test, max(now - self.started, 0.001))

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()

    def _begin(self, event: ProgressEvent, now: float) -> None:
        self.total = self.tokens = event.program.size.tokens
        self.lines = lines(event.program.text)
        self.started = now
        self.drawn = now - REDRAW if self.terminal else now
        if self.terminal:
            shape = "{percentage:3.0f}% gone |{bar:12}| {desc}"
            self.bar = tqdm(total=self.total, leave=False, dynamic_ncols=True, bar_format=shape, file=self.stream)

    def _draw(self, event: ProgressEvent, test: TieredTest, seconds: float) -> None:
        tiers = ", ".join(f"{count} {tier}" for tier, count in sorted(test.tries.items())) or "none"
        rate = sum(test.tries.values()) / seconds
        size = f"{self.tokens} of {self.total} tokens, {self.lines} lines"
        words = (
            f"{size}; tries: {tiers}, {rate:.1f}/s; {test.pool.jobs} lanes; round {event.round} {event.pass_name}; "
            f"best: {self.best}"
        )
        if self.bar is None:
            self._write(f"{seconds:7.0f} s  {words}")
        else:
            self.bar.n = max(0, self.total - self.tokens)
            self.bar.set_description_str(words)

    def _step(self, event: ProgressEvent, seconds: float) -> str:
        what = {"round": f"round {event.round}", "note": event.text}.get(
            event.kind
        ) or f"{event.kind}: {event.pass_name}"
        more = f" ({event.text})" if event.kind == "rolled back" and event.text else ""
        return f"{seconds:7.1f} s {self.tokens:6} tokens {self.lines:4} lines  {what}{more}"

    def _write(self, line: str) -> None:
        if self.bar is None:
            print(line, file=self.stream, flush=True)
        else:
            tqdm.write(line, file=self.stream)

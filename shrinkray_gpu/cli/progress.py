"""What the user sees while the search goes on: one bar on a terminal, a line every ten seconds in a log."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from shrinkray_gpu.cli.screen import Screen
from shrinkray_gpu.judging.tiered_test import TieredTest
from shrinkray_gpu.passes import PASSES
from shrinkray_gpu.reduction.outcome import ProgressEvent
from shrinkray_gpu.reduction.size import lines

EVERY = 10.0
"""Seconds between two lines where there is no terminal."""
REDRAW = 0.1
"""Seconds between two drawings of the bar: some waves take a millisecond."""
STEPS = ("accepted", "rolled back", "note", "round")
ORDER = {name: at for at, name in enumerate(dict.fromkeys(each.name for each in PASSES), 1)}
"""Of each pass, which one of them it is."""


class Progress:
    """How small the program is by now, and what is being done about it.

    The size is that of the best program saved, not of the candidate at hand: a trial may grow it for a while. No share
    of it is promised to go: once a round has found nothing, the rest of the search only checks that this is all.
    """

    def __init__(
        self,
        best: Path,
        screen: Screen,
        *,
        verbose: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.best, self.screen, self.verbose, self.clock = best, screen, verbose, clock
        self.total = self.tokens = self.lines = 0
        self.started = self.drawn = 0.0
        self.shrank = 1
        """The last round in which the program got smaller."""

    def show(self, event: ProgressEvent, test: TieredTest) -> None:
        """One event of the engine."""
        now = self.clock()
        if not self.total:
            self._begin(event, now)
        if event.kind in ("accepted", "rolled back"):
            self.tokens, self.lines = event.program.size.tokens, lines(event.program.text)
            self.shrank = max(event.round, 1)
        if event.kind == "rolled back" or (self.verbose and event.kind in STEPS):
            self.screen(self._step(event, now - self.started))
        if now - self.drawn >= (REDRAW if self.screen.terminal else EVERY):
            self.drawn = now
            self._draw(event, test, max(now - self.started, 0.001))

    def _begin(self, event: ProgressEvent, now: float) -> None:
        self.total = self.tokens = event.program.size.tokens
        self.lines = lines(event.program.text)
        self.started = now
        self.drawn = now - REDRAW if self.screen.terminal else now
        self.screen.ends()
        self.screen(
            f"searching from {self.total} tokens, {self.lines} lines; Ctrl-C keeps the best so far: {self.best}"
        )

    def _draw(self, event: ProgressEvent, test: TieredTest, seconds: float) -> None:
        of_all = "" if self.screen.terminal else f"of {self.total} "
        size = f"{self.tokens} {of_all}tokens, {self.lines} line{'s' * (self.lines != 1)}"
        at, passes = ORDER.get(event.pass_name, 0), len(ORDER)
        minimal = event.round > self.shrank
        if minimal:
            what = f"minimal so far; check {at} of {passes}{' that nothing smaller works' * self.screen.is_wide}"
        else:
            what = f"pass {event.pass_name}, round {event.round}" if event.pass_name else f"round {event.round}"
        tries = sum(test.tries.values())
        told = f"{tries} tries"
        if self.verbose or not self.screen.terminal:
            tiers = ", ".join(f"{count} {tier}" for tier, count in sorted(test.tries.items())) or "none"
            told = f"tries: {tiers}, {tries / seconds:.1f}/s; {test.pool.jobs} lanes"
        if self.screen.terminal:
            gone = max(0, self.total - self.tokens) / max(self.total, 1)
            self.screen.bar(at / passes if minimal else gone, 1, f"{size}; {what}; {told}")
        else:
            self.screen(f"{seconds:7.0f} s  {size}; {what}; {told}; best: {self.best}")

    def _step(self, event: ProgressEvent, seconds: float) -> str:
        what = {"round": f"round {event.round}", "note": event.text}.get(
            event.kind
        ) or f"{event.kind}: {event.pass_name}"
        more = f" ({event.text})" if event.kind == "rolled back" and event.text else ""
        return f"{seconds:7.1f} s {self.tokens:6} tokens {self.lines:4} lines  {what}{more}"

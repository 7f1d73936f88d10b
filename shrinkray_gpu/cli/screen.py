"""The one writer of a command: what is told, what goes on at the moment with a clock, and the bar of a search.

A line that ends in ` ...` tells what goes on from now on. On a terminal it stands at the bottom, with a clock, until
the next one takes its place; all other lines go above it. Where there is no terminal each line is just written.
"""

from __future__ import annotations

import os
import sys
import warnings
from typing import TYPE_CHECKING, Any, TextIO

from shrinkray_gpu.cli.output import echo, escaped_line

if TYPE_CHECKING:
    from rich.console import Console

GOES_ON = " ..."
WIDE = 12
"""Characters of a bar."""
WIDE_TERMINAL = 110
"""Columns from which on a bar says in full what is checked."""
_open: list[Screen] = []


class Screen:
    """May be called with a line. `close` leaves the terminal as it was; after that it may be used again."""

    def __init__(self, *, quiet: bool = False, stream: TextIO | None = None) -> None:
        self.quiet, self.stream = quiet, stream or sys.stderr
        self.terminal = not quiet and self.stream.isatty() and os.environ.get("TERM") != "dumb"
        self._what = ""
        self._bar: Any = None
        """tqdm's."""
        self._made: Console | None = None

    def __call__(self, text: str) -> None:
        if self.quiet:
            return
        text = escaped_line(text)
        if not self.terminal:
            echo(text, stream=self.stream)
        elif text.endswith(GOES_ON):
            self._go_on(text[: -len(GOES_ON)])
        else:
            self._print(text)

    def bar(self, done: float, total: float, text: str) -> None:
        """Show how far something has come, in place of what goes on; on a terminal only."""
        if not self.terminal:
            return
        text = escaped_line(text)
        if self._bar is None or self._what:
            self._end()
            self._begin(total, text)
        self._bar.total = total
        self._bar.n = done
        self._bar.set_description_str(text)

    def counted(self, done: int, total: int) -> None:
        """The same for things that are alike."""
        self.bar(done, total, f"{done} of {total} runs")

    @property
    def is_wide(self) -> bool:
        """Whether there is room for words that explain themselves."""
        return not self.terminal or self._console.width >= WIDE_TERMINAL

    def ends(self) -> None:
        """What goes on is over, and what comes next is not known yet."""
        self._end()

    def close(self) -> None:
        self._end()
        if self in _open:
            _open.remove(self)

    def _go_on(self, what: str) -> None:
        """Of what begins with the same words, up to a colon, only the last is worth a line."""
        if self._bar is not None and self._what.partition(":")[0] == what.partition(":")[0]:
            self._what = what
            self._bar.set_description_str(what)
            return
        self._end()
        self._begin(None, what)
        self._what = what

    def _begin(self, total: float | None, text: str) -> None:
        from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
        from rich.table import Column
        from tqdm import TqdmExperimentalWarning
        from tqdm.rich import tqdm

        # With a ratio the words alone give way where all is too wide for the terminal, and not the bar and the clock.
        rest = Column(no_wrap=True, overflow="ellipsis", ratio=1)
        words = TextColumn("{task.description}", markup=False, table_column=rest)
        how_far = BarColumn(WIDE, table_column=Column(min_width=WIDE)) if total is not None else SpinnerColumn()
        clock = TimeElapsedColumn(Column(min_width=len("0:00:00")))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TqdmExperimentalWarning)
            self._bar = tqdm(
                total=total,
                desc=text,
                leave=False,
                progress=(how_far, clock, words),
                options={"console": self._console, "transient": True, "expand": True},
            )
        _open.append(self)

    def _end(self) -> None:
        if self._bar is not None:
            seconds, bar = self._bar.format_dict["elapsed"], self._bar
            self._bar = None
            bar.close()
            if self._what and seconds >= 1:
                self._print(f"{self._what}: {seconds:.0f} s", style="dim")
        self._what = ""

    def _print(self, text: str, style: str = "") -> None:
        """A line with options in it stays whole: it is copied."""
        self._console.print(text, style=style, markup=False, highlight=False, soft_wrap=" --" in text)

    @property
    def _console(self) -> Console:
        from rich.console import Console

        if self._made is None:
            self._made = Console(file=self.stream, force_terminal=True)
        return self._made


def close_all() -> None:
    """Before a command ends, however it does."""
    for screen in list(_open):
        screen.close()

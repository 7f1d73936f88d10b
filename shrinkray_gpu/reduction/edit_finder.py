"""What a pass finds in the program at hand: its edits, each program asked once, what must stay left alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from shrinkray_gpu.reduction.cached_test import CachedTest
from shrinkray_gpu.reduction.edit import Edit
from shrinkray_gpu.reduction.keep import allowed_edits
from shrinkray_gpu.reduction.limits import Ending
from shrinkray_gpu.reduction.outcome import PassLike
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.state import State


class EditFinder:
    """`instrument` makes the program to watch, for the passes that need values: without it they find nothing. `keep`:
    definitions that stay."""

    def __init__(
        self,
        state: State,
        test: CachedTest,
        ending: Ending,
        *,
        instrument: Callable[[Program], Program] | None,
        keep: Sequence[str],
    ) -> None:
        self.state, self.test, self.ending = state, test, ending
        self.instrument, self.keep = instrument, frozenset(keep)
        self._last: dict[str, tuple[Program, list[Edit]]] = {}  # pass: what it found last, and where

    def edits(self, each: PassLike) -> list[Edit]:
        program = self.state.current
        begun = self.ending.clock()
        before = self._last.get(each.name)
        if before is not None and before[0] is program and not each.needs_values:
            return before[1]
        values: tuple[Any, ...] = ()
        if each.needs_values:
            if self.instrument is None:
                return []
            values = (self.test.values(self.instrument(program)),)
        try:
            found = allowed_edits(program, list(each.find(program, *values)), self.keep)
        except Exception as e:  # a pass that stumbles over this program must not end the reduction
            self.state.tell("note", f"pass {each.name} gave up: {type(e).__name__}: {e}")
            return []
        self.state.counts.bill.finding += self.ending.clock() - begun
        self._last[each.name] = program, found
        return found

"""What a pass finds in the program at hand: its edits, each program asked once, what must stay left alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from shrinkray_gpu.reduction.edit import Edit
from shrinkray_gpu.reduction.journal import Journal, digest
from shrinkray_gpu.reduction.keep import allowed
from shrinkray_gpu.reduction.limits import Ending
from shrinkray_gpu.reduction.outcome import PassLike
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.state import State

Watch = Callable[[Program], Mapping[int, str]]


class Finding:
    """`watch` runs an instrumented program and gives the values seen, for the passes that need them. `keep`:
    definitions that stay."""

    def __init__(
        self,
        state: State,
        journal: Journal,
        ending: Ending,
        *,
        watch: Watch | None,
        instrument: Callable[[Program], Program] | None,
        keep: Sequence[str],
    ) -> None:
        self.state, self.journal, self.ending = state, journal, ending
        self.watch, self.instrument, self.keep = watch, instrument, frozenset(keep)
        self._last: dict[str, tuple[Program, list[Edit]]] = {}  # pass: what it found last, and where

    def edits(self, each: PassLike) -> list[Edit]:
        program = self.state.current
        begun = self.ending.clock()
        before = self._last.get(each.name)
        if before is not None and before[0] is program and not each.needs_values:
            return before[1]
        given: tuple[Any, ...] = ()
        if each.needs_values:
            if self.watch is None or self.instrument is None:
                return []
            given = (self._values(program, self.watch, self.instrument),)
        try:
            found = allowed(program, list(each.find(program, *given)), self.keep)
        except Exception as e:  # a pass that stumbles over this program must not end the reduction
            self.state.tell("note", f"pass {each.name} gave up: {type(e).__name__}: {e}")
            return []
        self.state.bill.finding += self.ending.clock() - begun
        self._last[each.name] = program, found
        return found

    def _values(self, program: Program, watch: Watch, instrument: Callable[[Program], Program]) -> Mapping[int, str]:
        watched = instrument(program)
        key = digest(watched)
        values = self.journal.recall_watched(key)
        if values is None:
            self.ending.check()
            values = watch(watched)
            self.journal.watched(key, values)
        return values

"""The controls of one reduction: which of them make the original pass, and whether a step passes under those."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from shrinkray_gpu.oracle.verdict import Verdict, shows
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.same_fault.controls import Control, ControlOutcome, ControlResult, Controls, refuse
from shrinkray_gpu.same_fault.stage_controls import nearest

HISTORY = "serial"
"""The control that tells whether launches must overlap."""


@dataclass(frozen=True)
class ControlTrials:
    """How controls are tried."""

    original: Controls
    """On the original. By chance a control must hardly ever pass there: each step would be held against it."""
    steps: Controls
    """On accepted steps, with fewer repetitions of a flaky fault: one sighting is enough there."""
    repro: Controls
    at_once: bool = False
    """Whether all controls are tried on the original at once, and take no turns with the candidates."""


class ActiveControls:
    """Begins with the original at once, in threads of its own. `lanes`: what a step's controls may take half of."""

    def __init__(
        self,
        original: Program,
        trying: ControlTrials,
        *,
        chosen: Sequence[Control],
        standard: Sequence[Control],
        lanes: int,
    ) -> None:
        self.trying = trying
        self.chosen = tuple(dict.fromkeys(chosen))
        self.all = tuple(dict.fromkeys((*chosen, *standard)))
        self.dear = frozenset(one for one in standard if not one.way.cheap and one not in chosen)
        """Controls that need a process of their own, some seconds: asked with the fingerprints, not at each step."""
        # Steps wait for the tries on the original: they may not queue up behind one another.
        most = max(4, len(self.all)) if trying.at_once else 4
        self._first = ThreadPoolExecutor(most, thread_name_prefix="controls")
        self._steps = ThreadPoolExecutor(max(2, lanes // 2), thread_name_prefix="guards")
        # The search waits for the one that tells of history: it takes its turn before others that want the GPU.
        first = sorted(self.all, key=lambda one: one.name != HISTORY)
        begun = {one: self._first.submit(trying.original.attempt, one, original.text) for one in first}
        self._tried = [begun[one] for one in self.all]

    @property
    def tried(self) -> tuple[ControlResult, ...]:
        """How the controls fared on the original. Waits for them."""
        return tuple(future.result() for future in self._tried)

    @property
    def history(self) -> bool:
        """Whether the fault needs launches that overlap, or their order in time: then no verdict counts for another
        run of the same launches. Waits for the one control that tells."""
        for future, control in zip(self._tried, self.all, strict=True):
            if control.name == HISTORY:
                return future.result().outcome is ControlOutcome.PASSES
        return False

    @property
    def active(self) -> tuple[Control, ...]:
        """The controls that make the original pass. Waits for all."""
        return self._active(frozenset(self.all))

    def insist(self) -> None:
        """Raise UsageError if a control that the user named does not make the original pass."""
        for future in self._tried[: len(self.chosen)]:
            if (tried := future.result()).outcome is not ControlOutcome.PASSES:
                refuse(tried)

    def settle(self) -> None:
        """Wait for the controls on the original, where they take no turns with the candidates, so that none is at work
        beside these; but for the one that leaves the GPU alone, and takes the longest."""
        for future, control in zip(self._tried, self.all, strict=True):
            if self.trying.at_once and "interpreter" not in control.way.knobs:
                future.result()

    def begin(self, text: str) -> Future[Verdict]:
        """Ask the cheap ones of a step, in a thread of ours."""
        return self._steps.submit(lambda: self._held(text, self._active(frozenset(self.all) - self.dear)))

    def all_hold(self, text: str) -> Verdict:
        """FAULTS if all active ones hold for this program, PASSES if one that must pass still faults."""
        return self._held(text, self.active)

    def dear_hold(self, text: str) -> Verdict:
        """The same by those that need a process of their own."""
        return self._held(text, self._active(self.dear))

    def of_repro(self, text: str) -> tuple[ControlResult, ...]:
        """How the active ones fare on the repro."""
        return tuple(self._first.map(lambda control: self.trying.repro.attempt(control, text), self.active))

    def close(self) -> None:
        for threads in (self._steps, self._first):
            threads.shutdown(wait=True, cancel_futures=True)

    def _active(self, among: frozenset[Control]) -> tuple[Control, ...]:
        found = [future.result() for one, future in zip(self.all, self._tried, strict=True) if one in among]
        passing = [tried.control for tried in found if tried.outcome is ControlOutcome.PASSES]
        return nearest(passing, self.chosen)

    def _held(self, text: str, controls: tuple[Control, ...]) -> Verdict:
        if not controls:
            return shows("no control to check")
        return self.trying.steps.guard(text, controls)

"""Runs of the program with its launches written down, until one shows the fault: a flaky one may miss it at first."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

from shrinkray_gpu import calibration
from shrinkray_gpu.calibration.absent import is_clean, refuse
from shrinkray_gpu.calibration.missed import FURTHER_SECONDS, further, kernels_ran, no_kernel_ran
from shrinkray_gpu.device import gpus
from shrinkray_gpu.evidence.instruments.instrument import WANTS
from shrinkray_gpu.judging.cold_tier import full_verdict
from shrinkray_gpu.judging.tally import COLD, LANE
from shrinkray_gpu.oracle import Oracle, adopt
from shrinkray_gpu.runner.knob_settings import PLAIN, KnobSetting
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.start.given import Say, UserProgram

SERIAL = KnobSetting("each launch waits", environment={"CUDA_LAUNCH_BLOCKING": "1"})
"""Each launch waits for its end: then the one that faults is the one that raises."""
MORE = 5
"""Runs more of a program whose fault showed at once, and that now ends well, in one file or with values written down:
of a fault in 70 % of all runs all six miss it once in 1,400."""


class Runs:
    """The runs of one program and of what it becomes in one file."""

    def __init__(self, given: UserProgram, say: Say) -> None:
        self.given, self.say = given, say
        self.gpu = given.setup.arch is None and gpus.present()
        self.tries: Counter[str] = Counter()
        self.enough = MORE + 1
        """Runs that all miss the fault of the program hardly ever."""
        self._lanes: tuple[str, calibration.LaneSet] | None = None
        """The text for which workers came up, and these."""

    def until(
        self, shows: Callable[[Run], bool], text: str, most: int, *, capture: str = "", way: KnobSetting = PLAIN
    ) -> list[Run]:
        """Runs of a text until one shows the fault, which is the last then. A flaky one may keep away by chance: what
        ends well is run again, up to `most` times in all, where that is cheapest. The first is a cold one. On the
        virtual GPU, where hardly anything is left to chance, once more is enough; but there kernels are run if that
        shows the fault, and from then on.

        There, too, a run with launches written down has all that the instruments read: they need none of their own."""
        sanitized = self.given.script.sanitizer and capture
        most = 1 if sanitized else min(most, further(self.given.setup) + 1)
        asked = self.given.look is not None and self.given.setup.arch is not None and capture == "launch"
        wants = WANTS if asked else ()
        self.tries[COLD] += 1
        first = self.given.cold().cold(text, capture=capture, way=way, wants=wants)
        runs, until = [first], time.monotonic() + FURTHER_SECONDS
        if self.given.chosen is not None:
            refuse(self.given.chosen, runs[0], self.given.script)
        if not shows(runs[0]) and no_kernel_ran(runs[0]):
            self.say(
                "a run ends without the fault, which may hang on what kernels write: one more, in which they are run"
            )
            given = self.given.with_kernels_run()
            self.tries[COLD] += 1
            again = given.cold().cold(text, capture=capture, way=way, wants=wants)
            if shows(again) and kernels_ran(again):
                self.given = given
                return [again]
            if is_clean(runs[0]):
                runs.append(again)
        if sanitized:
            runs = [self._with_records(runs[0], text)]
        while not shows(runs[-1]) and is_clean(runs[-1]) and len(runs) < most and time.monotonic() < until:
            if len(runs) == 1:
                self.say(f"a run ends without the fault, which may be a flaky one: up to {most - 1} more")
            if self._lanes is None or self._lanes[0] != text:
                self.close()
                self._lanes = (text, self.given.lanes(text))
            pool = self._lanes[1].unfenced(self.given.chosen)
            wave = min(pool.jobs, most - len(runs))
            with ThreadPoolExecutor(wave, thread_name_prefix="again") as threads:
                one = partial(pool.run, fresh=True, capture=capture, way=way, wants=wants)
                more = list(threads.map(one, [text] * wave))
            self.tries[COLD if pool.mode == "cold" else LANE] += wave
            runs += sorted(more, key=lambda run: (shows(run), not is_clean(run)))
        return runs

    def _with_records(self, written: Run, text: str) -> Run:
        """A run under the sanitizer, with the launches of another one: there nothing of ours writes them down."""
        self.tries[COLD] += 1
        seen = self.given.cold().cold(text)
        return replace(seen, captured=written.captured, launches=written.launches, compiles=written.compiles)

    def with_values(self, oracle: Oracle) -> Run:
        """A run of the program with what its tensors hold written down, one that shows the fault if any does."""
        text, shows = self.given.program.text, partial(self.shows, oracle)
        if self.gpu:
            [run] = self.until(shows, text, 1, capture="values", way=SERIAL)
            if run.timed_out or shows(run):
                return run  # otherwise waiting may hide it
        return self.until(shows, text, self.enough, capture="values")[-1]

    def worth_it(self, run: Run) -> bool:
        """Whether a run of the program shows what the user asked for, or something that may be adopted."""
        chosen = self.given.chosen
        return adopt(run) is not None if chosen is None else self.shows(chosen, run)

    def calibrated_oracle(self, run: Run) -> Oracle | None:
        """The oracle bound to the fault that this run shows; None if it shows none."""
        if not self.worth_it(run):
            return None
        asked = self.given.chosen or self.given.adopting(run)
        return asked.calibrate(run) if self.shows(asked, run) else None

    def shows(self, oracle: Oracle, run: Run) -> bool:
        return full_verdict(oracle, self.given.program.text, self.given.script.path.name, lambda _: run).faults

    def lanes_for(self, text: str) -> calibration.LaneSet | None:
        """The workers that came up for this text, which live on; any others come to their end."""
        mine, self._lanes = self._lanes, None
        if mine is None or mine[0] == text:
            return mine[1] if mine else None
        mine[1].close()
        return None

    def close(self) -> None:
        mine, self._lanes = self._lanes, None
        if mine is not None:
            mine[1].close()


def plain(run: Run) -> Run:
    return replace(run, captured=None)

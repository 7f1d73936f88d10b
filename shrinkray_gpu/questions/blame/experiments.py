"""Experiments on the compiler: the program as it is, and with one thing below its source changed, each often enough.

A fault may come and go. So the program is run as it is until the fault has shown a few times. A change that ends the
fault is then run as often as it takes: by chance so many clean runs come in 5 % of cases at most, shared by all changes
that are tried (Fisher's exact test).
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.oracle.statistics import CONFIDENCE, Rate, by_chance
from shrinkray_gpu.oracle.verdict import Verdict, lacks, shows, unclear
from shrinkray_gpu.runner.inside.knobs import passes
from shrinkray_gpu.runner.knob_settings import PLAIN, KnobSetting
from shrinkray_gpu.runner.pool import Pool
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.same_fault.controls import Control, ControlOutcome, outcome

T = TypeVar("T")
R = TypeVar("R")
SECONDS, RELEASE_SECONDS = 20.0, 60.0
"""For all knobs, and for each other release that is asked for; what is left then is not tried."""
SIGHTINGS, MOST = 5, 30
"""The unaltered program is run until its fault has shown so often, or has run so often."""
FEW = 3
"""More passes that change nothing are told by their number."""
PASS, KNOB, TRITON, PTXAS = "pass", "knob", "triton", "ptxas"
GONE, STAYS, UNTOLD = "gone", "stays", "not known"
SURE = f"{100 * CONFIDENCE:.0f} % confidence"
_BEGUN = re.compile(re.escape(passes.SAID) + r"(\w+)")


@dataclass(frozen=True)
class CompilerExperiment:
    """One change below the program's source, and what becomes of the fault."""

    kind: str
    change: str
    outcome: str
    """`gone`, `stays`; of a ptxas `accepts`, `refuses`; or `not known`."""
    why: str
    shown: int = 0
    """Runs in which the fault showed, of `runs`."""
    runs: int = 0
    line: int = 0
    """Of the PTX, where a ptxas refuses it first."""

    def __str__(self) -> str:
        """As on the card."""
        if self.kind == PTXAS:
            return f"{self.change} {self.outcome}{f': {self.why}' if self.why else ''}"
        if self.outcome == UNTOLD:
            return f"{self.change}: {self.outcome}: {self.why}"
        return f"{self.change}: {self.outcome} in {self.shown or self.runs} of {self.runs} runs"


@dataclass(frozen=True)
class Tried:
    """What was tried on one program."""

    unaltered: Rate = field(default_factory=lambda: Rate(0, 0))
    experiments: tuple[CompilerExperiment, ...] = ()

    def gone(self, *kinds: str) -> list[CompilerExperiment]:
        return [each for each in self.experiments if each.kind in kinds and each.outcome == GONE]

    def rows(self) -> Iterator[tuple[str, str]]:
        """Labels and facts, as on the card: each release, and the knobs and passes by what becomes of the fault."""
        if self.unaltered.runs:
            yield "tried", f"as it is: the fault shows in {self.unaltered}; changes are told with {SURE}"
        yield from (("tried", str(each)) for each in self.experiments if each.kind in (TRITON, PTXAS))
        for result in (GONE, STAYS, UNTOLD):
            some = [each for each in self.experiments if each.kind in (KNOB, PASS) and each.outcome == result]
            names = [each.change for each in some if each.kind == KNOB or result == GONE]
            others = [each.change for each in some if each.change not in names]
            if some:
                names += others if len(others) <= FEW else [f"without one of {len(others)} passes (--json names them)"]
                runs = f" in {some[0].runs} of {some[0].runs} runs" if result == GONE else ""
                reasons = f" ({'; '.join(dict.fromkeys(each.why for each in some))[:160]})" if result == UNTOLD else ""
                yield "tried", f"{result}{runs}: {', '.join(names)}{reasons}"


@dataclass(frozen=True)
class Laboratory:
    """Where one fault is experimented on: the one of `seen`, the original's run."""

    pool: Pool
    text: str
    seen: Run

    def unaltered(self, seconds: float) -> tuple[Rate, list[str]]:
        """How often the fault shows, and the passes of Triton's that the program may do without, in their order."""
        end, runs, shown = time.monotonic() + seconds, list[Run](), 0
        while shown < SIGHTINGS and len(runs) < MOST and not (runs and time.monotonic() > end):
            runs += _at_once(self.pool.jobs, self._run, [PLAIN] * min(self.pool.jobs, MOST - len(runs)))
            shown = sum(self._verdict(run).faults for run in runs)
        said = (text for run in runs for text in (run.stderr, *(one.printed for one in run.compiles)))
        begun = dict.fromkeys(name for text in said for name in _BEGUN.findall(text))
        return Rate(shown, len(runs)), list(begun)

    def try_all(
        self, ways: Sequence[tuple[str, KnobSetting]], unaltered: Rate, *, seconds: float
    ) -> list[CompilerExperiment]:
        """Each way (with its kind) once, then those that end the fault often enough; nothing is begun once the time is
        over."""
        end, needed = time.monotonic() + seconds, clean_runs_needed(unaltered, len(ways))
        why = "the time was over" if needed else "the fault shows too rarely"
        names = [way.name.replace(f"{passes.KNOB}=", "without ") for _, way in ways]
        begun = [(way, CompilerExperiment(kind, name, UNTOLD, why)) for (kind, way), name in zip(ways, names)]

        def again(given: tuple[KnobSetting, CompilerExperiment], most: int) -> tuple[KnobSetting, CompilerExperiment]:
            way, told = given
            while told.runs < min(most, needed) and told.outcome == UNTOLD and time.monotonic() <= end:
                run = self._run(way)
                found, why = outcome(run, self._verdict(run), Control(way.name, way), self.seen)
                runs = told.runs + 1
                if found is ControlOutcome.FAULTS:
                    told = replace(told, outcome=STAYS, why=why, shown=1, runs=runs)
                elif found is ControlOutcome.NOT_APPLICABLE:
                    return way, replace(told, why=why, runs=needed)  # no other run would tell more
                else:
                    more = f"gone in {runs} of {runs} runs, and it takes {needed}"
                    told = replace(told, outcome=GONE if runs == needed else UNTOLD, why=more, runs=runs)
            return way, told

        for most in (1, needed):
            begun = _at_once(self.pool.jobs, partial(again, most=most), begun)
        return [told for _, told in begun]

    def _run(self, way: KnobSetting) -> Run:
        return self.pool.run(self.text, way=replace(way, knobs={passes.KNOB: "", **way.knobs}))

    def _verdict(self, run: Run) -> Verdict:
        wanted, fault = Fault.of(self.seen), Fault.of(run)
        if run.trouble:
            return unclear(run.trouble)
        if wanted is None or fault is None:
            return lacks("it shows none")
        other = wanted.difference(fault)
        return lacks(other) if other else shows(str(fault))


def clean_runs_needed(unaltered: Rate, changes: int) -> int:
    """Runs without the fault that show that a change ended it, of so many that are tried. 0: more than are made."""
    if not unaltered.sightings:
        return 0
    error = (1 - CONFIDENCE) / max(1, changes)
    return next((runs for runs in range(1, MOST + 1) if by_chance(Rate(0, runs), unaltered) <= error), 0)


def _at_once(jobs: int, work: Callable[[T], R], items: Iterable[T]) -> list[R]:
    """The results of `work` on the items, in their order, so many at a time. On Ctrl-C those under way are not waited
    for: whoever closes the lanes ends them."""
    threads = ThreadPoolExecutor(jobs)
    try:
        return [*threads.map(work, items)]
    finally:
        threads.shutdown(wait=False, cancel_futures=True)

"""How a candidate of a flaky fault is asked again, until the numbers decide.

One clean run says little about a program that faults in 30 % of its runs, and one sighting says little about one that
should do so. So a "no" is backed by enough clean runs, and a "yes" is a sighting plus a confirmation of the rate by
runs made after it: a candidate that faults less than half as often as the original is not accepted.

How sure the result is comes from one number for the whole reduction, `confidence`. Half of what it leaves open is spent
on the chance that some confirmation passes a program under half of the rate; the other half on the chance that in the
last round, which decides what is left standing, some candidate as frail as the original is turned down. Steps on the
way are cheaper: a "no" before the last round is provisional, and a "yes" that was one too many is found by the next
confirmation, which rolls it back. A confirmation of each step at the strength of the last one cost twice the tries.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from shrinkray_gpu.oracle import Fault
from shrinkray_gpu.oracle.statistics import CONFIDENCE, Rate, SequentialTest, clean_runs, lower, share
from shrinkray_gpu.oracle.verdict import Answer, Verdict
from shrinkray_gpu.runner.run import Run

LOOSE = 0.1
"""Before the last round: how often a candidate as good as the original may be turned down, for now."""
HASTY = 0.05
"""How often a step to half of the original's rate may be taken, until the next confirmation."""
DOUBTS = 8
"""So many runs more that tell nothing than that tell something, and the candidate's verdict is unknown."""
PROGRAMMING = frozenset(
    "NameError UnboundLocalError SyntaxError IndentationError TabError TypeError AttributeError ImportError "
    "ModuleNotFoundError NotImplementedError RecursionError".split()
)
"""Python errors that come of the text. An IndexError or a ValueError may come of the data, and so of chance."""

RunBatch = Callable[[int], Sequence[Verdict]]
"""Runs the candidate up to so many times, at least once, and gives a verdict for each run."""


class FlakyTest:
    """Decides on candidates of a fault that the original shows at `rate`. Used by many threads at once.

    `reference` is a run of the original that shows it. The rate asked of a candidate, `goal`, is one that the original
    itself surely has; what is never accepted is half of what was measured.
    """

    def __init__(self, rate: Rate, reference: Run, *, confidence: float = CONFIDENCE) -> None:
        if not rate.sightings:
            raise ValueError("a fault that was never seen has no rate to compare with")
        if not 0 < confidence < 1:
            raise ValueError(f"a confidence is between 0 and 1, not {confidence}")
        self.rate, self.reference, self.confidence = rate, reference, confidence
        self.floor = rate.estimate / 2
        self.goal = max(lower(rate.sightings, rate.runs, 0.1), 1.5 * self.floor)
        self.budget = (1 - confidence) / 2
        self.accepted = self.confirmations = 0
        """So far; of the confirmations, all that were begun."""
        self._under_way = 0
        self._clean: dict[str, tuple[int, Verdict]] = {}
        """Programs never seen to fault: runs so far, and the last verdict. Runs add up over the rounds."""
        self._lock = threading.Lock()

    def decide(self, ask: RunBatch, *, last: bool = False, key: str = "") -> Verdict:
        """Whether the candidate shows the fault, and no less than half as often as the original. `last`: in the last
        round, where a "no" stands. By `key` a program that is asked again is known."""
        with self._turn(last) as error:
            verdict = self._decided(ask, error, HASTY, key)
        if verdict.answer is Answer.PASSES:
            return replace(verdict, provisional=not last and not verdict.certain)
        if verdict.faults:
            with self._lock:
                self.accepted += 1
        return verdict

    def confirm(self, ask: RunBatch) -> Verdict:
        """The same of a program that was accepted, with what confidence there is left."""
        with self._lock:
            self.confirmations += 1
            accept = self.budget * share(self.confirmations)
        with self._turn(last=True) as error:
            return self._decided(ask, error, accept)

    def sighting(self, ask: RunBatch) -> Verdict:
        """Whether the fault shows at all, within the runs that a "no" must rest on. Where each run is dear (a cold
        process) and the rate is known from elsewhere."""
        with self._turn(last=True) as error:
            return self._seen(_RunSequence(ask), clean_runs(self.goal, error))

    def is_certain(self, run: Run) -> bool:
        """Whether a run that does not show the fault is one that cannot: chance has no part in it."""
        return bool(impossibility(run, self.reference))

    @property
    def clean(self) -> int:
        """Clean runs for a "no" before the last round."""
        return clean_runs(self.goal, LOOSE / 2)

    @property
    def price(self) -> tuple[float, float]:
        """Expected runs for a "yes" to a program of the original's rate, and for a "no" to one that never faults."""
        test = SequentialTest(self.floor, self.goal, HASTY, LOOSE / 2)
        return 1 / self.rate.estimate + test.operating(self.rate.estimate).runs, self.clean

    def eager(self, fault: float = 1.0) -> float:
        """What a "yes" costs in terms of a "no", where a run that faults costs so many that do not."""
        yes, no = self.price
        return yes * (1 + self.rate.estimate * (fault - 1)) / no

    def _decided(self, ask: RunBatch, refute: float, accept: float, key: str = "") -> Verdict:
        asking = _RunSequence(ask)
        first = self._seen(asking, clean_runs(self.goal, refute / 2), key)
        if not first.faults:
            return first
        test = SequentialTest(self.floor, self.goal, accept, refute / 2)
        # Only runs after the sighting count: the sighting is why we ask.
        sightings = runs = 0
        while (decision := test.decision(sightings, runs)) is None:
            verdict = asking.next(test.soonest(sightings, runs))
            if verdict.certain or not verdict.is_known:
                return verdict
            runs, sightings = runs + 1, sightings + verdict.faults
        counts = f"{asking.sightings} of {asking.known} runs"
        if decision:
            return replace(first, why=f"{first.why} ({counts})")
        why = f"seen in {counts}, too rarely beside the original's {100 * self.rate.estimate:.0f} %: {first.why}"
        return Verdict(Answer.PASSES, why, other=asking.other)

    def _seen(self, asking: _RunSequence, clean: int, key: str = "") -> Verdict:
        """The first sighting, or the last of so many clean runs."""
        before, verdict = self._clean.pop(key, (0, None))
        for left in range(clean - before, 0, -1):
            verdict = asking.next(left)
            if verdict.faults or verdict.certain or not verdict.is_known:
                return verdict
        assert verdict is not None
        runs = before + asking.known
        if key:
            self._clean[key] = (runs, verdict)
        return replace(verdict, why=f"{verdict.why} (0 of {runs} runs)", other=verdict.other or asking.other)

    @contextmanager
    def _turn(self, last: bool) -> Iterator[float]:
        """The chance that this candidate, if as good as the original, may be turned down.

        In the last round a part of the budget, by number among the good ones: those accepted before it, and, since they
        may be good as well, those under way with it. Bad ones use up nothing, as there is nothing to lose.
        """
        with self._lock:
            self._under_way += 1
            index = self.accepted + self._under_way
        try:
            yield self.budget * share(index) if last else LOOSE
        finally:
            with self._lock:
                self._under_way -= 1


def impossibility(run: Run, reference: Run) -> str:
    """Why a run without the fault could not have shown it, whatever chance does; empty where it could."""
    if run.trouble or run.timed_out or run.signal is not None or run.driver_error:
        return ""
    kind = run.failure.type.rpartition(".")[2] if run.failure else ""
    usual = reference.failure.type.rpartition(".")[2] if reference.failure else ""
    if kind in PROGRAMMING and kind != usual:
        return f"a {kind} is an error of the text"
    fault, expected = Fault.of(run), Fault.of(reference)
    if fault is not None and fault.phase == "compile" and (expected is None or expected.phase != "compile"):
        return "a kernel does not compile"
    if reference.launches and not run.launches and (run.exit == 0 or run.failure is not None):
        return "it launches nothing"
    return ""


def measure(ask: RunBatch, *, runs: int = 40, sightings: int = 24, most: int = 200) -> Rate:
    """How often a program shows its fault: at least so many runs, and further ones up to `most` until there are so many
    sightings, since the error of a small rate is as large as the rate itself."""
    asking = _RunSequence(ask)
    while asking.known < runs or (asking.sightings < sightings and asking.known < most):
        needed = max(runs - asking.known, min(sightings - asking.sightings, most - asking.known))
        if asking.hopeless or not asking.next(needed).is_known:
            break
    return Rate(asking.sightings, asking.known)


class _RunSequence:
    """The runs of one candidate, handed out one by one whatever the number that is made at once."""

    def __init__(self, ask: RunBatch) -> None:
        self.ask = ask
        self.waiting: list[Verdict] = []
        self.known = self.unknown = self.sightings = 0
        self.other: Fault | None = None

    @property
    def hopeless(self) -> bool:
        return self.unknown > DOUBTS + self.known

    def next(self, useful: int) -> Verdict:
        """The next run that tells something; one that does not where too many do not. `useful`: runs that can be made
        at once with none of them in vain."""
        while True:
            if not self.waiting:
                self.waiting = list(self.ask(useful))
            verdict = self.waiting.pop(0)
            if verdict.is_known:
                self.known += 1
                self.sightings += verdict.faults
                self.other = verdict.other or self.other
                return verdict
            self.unknown += 1
            if self.hopeless:
                return verdict

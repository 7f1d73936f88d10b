"""Every configuration of a program run so many times, each time in a context of its own, and judged.

The configurations take turns: run one of all, then run two of all. What changes while a sweep goes on (the device warms
up, other work comes and goes) then falls on all of them alike, and does not look like a property of the last one.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from shrinkray_gpu.cells.this_machine import ThisMachine
from shrinkray_gpu.errors import NotReproduced, UsageError
from shrinkray_gpu.oracle import Answer, Fault, Oracle, Verdict, obstacle
from shrinkray_gpu.oracle.needs import UNASKED
from shrinkray_gpu.oracle.statistics import Rate
from shrinkray_gpu.questions.varying import (
    Axis,
    ConfigurationCell,
    ConfiguredProgram,
    RunPlace,
    RunTerms,
    Setting,
    UserScript,
    combinations,
    configure,
    own_folders,
)
from shrinkray_gpu.runner.run import Run

DOUBTS = 3
"""Runs of one configuration that tell nothing and nothing else, after which it is not run any more."""


class CellKind(enum.Enum):
    PASSES = "passes"
    INTERMITTENT = "intermittent"
    CONSISTENT = "consistent"
    FAULTS = "faults"
    """In its only run, which says nothing of chance."""
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class MatrixCell:
    """One configuration, and what its runs showed."""

    settings: tuple[Setting, ...]
    program: ConfiguredProgram
    rate: Rate
    """Of the runs that tell something."""
    unknown: int = 0
    faults: tuple[tuple[str, int], ...] = ()
    """The faults that were counted, the most frequent first."""
    others: tuple[tuple[str, int], ...] = ()
    """Faults that are not what the oracle asks for; those runs count as passed."""
    doubt: str = ""
    """Why runs tell nothing."""
    seconds: float = 0.0
    """Of all runs together."""
    code: frozenset[str] = frozenset()
    """The kernels that were compiled, by their TTIR and options, and how they were launched."""
    builds: bool = False
    """Whether it builds CUDA C++, of whose launches nothing is told."""

    @property
    def kind(self) -> CellKind:
        if not self.rate.runs:
            return CellKind.UNKNOWN
        if not self.rate.sightings:
            return CellKind.PASSES
        if self.rate.runs == 1:
            return CellKind.FAULTS
        return CellKind.CONSISTENT if self.rate.sightings == self.rate.runs else CellKind.INTERMITTENT


@dataclass(frozen=True)
class Matrix:
    axes: tuple[Axis, ...]
    cells: tuple[MatrixCell, ...]
    """The last axis is the fastest."""
    runs: int
    oracle: str
    versions: Mapping[str, str]
    place: str
    """`NVIDIA H100 80GB HBM3`, or the architecture that was compiled for."""

    @property
    def idle(self) -> list[str]:
        """Axes that seem to reach nothing: with each of their values the same code was launched in the same way, and
        the same kind of outcome came of it."""
        found = []
        for at, axis in enumerate(self.axes):
            groups: dict[tuple[Setting, ...], set[tuple[frozenset[str], CellKind]]] = {}
            for cell in self.cells:
                rest = cell.settings[:at] + cell.settings[at + 1 :]
                groups.setdefault(rest, set()).add((cell.code, cell.kind))
            if len(axis.values) > 1 and all(len(seen) == 1 and next(iter(seen))[0] for seen in groups.values()):
                found.append(axis.name)
        return found


def sweep(
    program: UserScript,
    axes: Sequence[Axis],
    place: RunPlace,
    *,
    runs: int,
    oracle: Oracle | None = None,
    cold: bool = False,
    say: Callable[[str], None] = lambda text: None,
    done: Callable[[int, int], None] = lambda so_far, all_of_them: None,
) -> Matrix:
    """Run them all. Without an `oracle` every fault counts.

    Raises UsageError for a name that the program does not have, an oracle that one run does not answer, and an
    interpreter that runs nothing.
    """
    _check(oracle)
    needs = oracle.needs if oracle else replace(UNASKED, asserts=False)
    place = replace(place, jobs=1 if needs.timing else place.jobs, seconds=needs.seconds or place.seconds)
    all_settings = combinations(axes)
    programs = [configure(program, settings) for settings in all_settings]
    tallies = [_Tally(oracle) for _ in programs]
    told = f"{len(programs)} configurations, {runs} run{'s' * (runs > 1)} each, on {{gpu}} ..."
    terms = RunTerms(place, told, needs.wants, cold, needs.asserts, needs.timing, own_folders(programs))
    asked = [ConfigurationCell(each, terms) for each in programs]
    versions, where, count = {}, "", 0
    with closing(ThisMachine(place.jobs, say=say)) as engine:
        for turns in (min(runs, DOUBTS), runs - DOUBTS):
            numbers = [number for number, tally in enumerate(tallies) if not tally.hopeless] * turns
            for at, row in engine.run([asked[number] for number in numbers]):
                tallies[numbers[at]].add(Run.from_json(row["run"]))
                versions, where, count = row["versions"], row["on"], count + 1
                done(count, runs * len(programs))
    cells = tuple(
        tally.cell(settings, each) for tally, settings, each in zip(tallies, all_settings, programs, strict=True)
    )
    if all(cell.kind is CellKind.UNKNOWN for cell in cells):
        if all(tally.obstacle for tally in tallies):
            raise UsageError(f"{program.path.name} does not run in {place.python}. {tallies[0].obstacle}")
        raise NotReproduced(f"no run tells anything: {cells[0].doubt}")
    return Matrix(tuple(axes), cells, runs, oracle.spec if oracle else "", versions, where)


def _check(oracle: Oracle | None) -> None:
    """Raises UsageError for a question that a run of its own does not answer."""
    if oracle is None:
        return
    needs = oracle.needs
    if needs.twins or needs.elsewhere or needs.sanitizer or needs.text:
        raise UsageError(f"--oracle {oracle.spec}: a sweep judges each run by itself, and this is not seen in one run")


class _Tally:
    """What the runs of one configuration have shown so far."""

    def __init__(self, oracle: Oracle | None) -> None:
        self.oracle = oracle
        self.faults: Counter[str] = Counter()
        self.others: Counter[str] = Counter()
        self.passed = self.unknown = 0
        self.doubt = self.obstacle = ""
        self.seconds = 0.0
        self.code: frozenset[str] = frozenset()
        self.builds = False

    @property
    def hopeless(self) -> bool:
        return self.unknown >= DOUBTS and not (self.passed or self.faults)

    def add(self, run: Run) -> None:
        self.seconds += run.seconds
        self.code = self.code or _code(run)
        self.builds = self.builds or bool(run.builds)
        fault = Fault.of(run)
        self.obstacle = self.obstacle or obstacle(run)
        if self.obstacle:  # a module that is missing is no fault of the program
            self._unknown(self.obstacle)
        elif self.oracle is None:
            if run.trouble:
                self._unknown(run.trouble)
            elif fault is not None:
                self.faults[str(fault)] += 1
            else:
                self.passed += 1
        else:
            self._judge(self.oracle.judge(run), fault)

    def _judge(self, verdict: Verdict, fault: Fault | None) -> None:
        if verdict.answer is Answer.UNKNOWN:
            self._unknown(verdict.why)
        elif verdict.faults:
            self.faults[str(fault) if fault else verdict.why] += 1
        else:
            self.passed += 1
            if fault is not None:
                self.others[str(fault)] += 1

    def cell(self, settings: tuple[Setting, ...], program: ConfiguredProgram) -> MatrixCell:
        seen = sum(self.faults.values())
        return MatrixCell(
            settings,
            program,
            Rate(seen, seen + self.passed),
            self.unknown,
            tuple(self.faults.most_common()),
            tuple(self.others.most_common()),
            self.doubt,
            self.seconds,
            self.code,
            self.builds,
        )

    def _unknown(self, why: str) -> None:
        self.unknown += 1
        self.doubt = self.doubt or why


def _code(run: Run) -> frozenset[str]:
    """What was launched and how; of a compilation that failed, with what options."""
    compiled = {one.hash: f"{one.ttir_key} {sorted(one.options.items())}" for one in run.compiles if not one.failure}
    launched = {f"{compiled.get(one.hash)} {one.grid} {one.args}" for one in run.launches}
    return frozenset(launched | {f"{one.kernel} {sorted(one.options.items())}" for one in run.compiles if one.failure})

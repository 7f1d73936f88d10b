"""Candidates of one reduction of a `.cu` on the machines of a Ray cluster: each verdict is a cell.

A verdict takes several processes, each of which decides about the next, so all of them run on one host. The host must
have nvcc, driver and GPU as this machine has them.
"""

from __future__ import annotations

import os
import sys
import tempfile
import uuid
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from shrinkray_gpu.cells.cell import Cell, CellEngine, Row, gpu_needs
from shrinkray_gpu.cells.shipped_files import outermost, renamed
from shrinkray_gpu.cells.sick_gpu import checked
from shrinkray_gpu.cu.cu_fault import CuFault
from shrinkray_gpu.cu.cu_program import text_of
from shrinkray_gpu.cu.nvcc_test import NvccTest
from shrinkray_gpu.cu.nvcc_trial import NvccTrial
from shrinkray_gpu.cu.options import CuOptions
from shrinkray_gpu.device import toolkit
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.evidence.ptxas import version
from shrinkray_gpu.evidence.versions import check_same, device_versions
from shrinkray_gpu.oracle.verdict import Answer, Verdict
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.runner.gpu_groups import GpuGroups


@dataclass(frozen=True)
class CuTryTerms:
    """What all tries of a reduction share."""

    key: str
    """Of this reduction alone."""
    flags: tuple[str, ...]
    name: str
    environment: tuple[tuple[str, str], ...]
    """What is otherwise than in the environment of this machine's user."""
    argv: tuple[str, ...]
    cwd: str
    hosted: bool
    fault: CuFault
    seconds: float
    keep: frozenset[str]
    folders: tuple[Path, ...]
    """Those that the program needs."""
    versions: tuple[tuple[str, str], ...]
    accelerator: str


@dataclass(frozen=True)
class CuTryCell(Cell["CuTryLanes"]):
    """The verdict of one candidate."""

    text: str
    terms: CuTryTerms
    names: tuple[tuple[str, str], ...] = ()
    """What a path is called here and on the host, where that is another machine."""

    @property
    def name(self) -> str:
        return self.terms.name

    @property
    def place(self) -> Hashable:
        return self.terms.key

    @property
    def needs(self) -> Mapping[str, float]:
        return {} if self.terms.hosted else gpu_needs(None, self.terms.accelerator)

    @property
    def files(self) -> Sequence[Path]:
        return self.terms.folders

    def moved(self, places: Mapping[Path, Path]) -> CuTryCell:
        return replace(self, names=tuple((str(path), str(places[path])) for path in self.files))

    def open(self, jobs: int) -> CuTryLanes:
        return CuTryLanes(self.terms, dict(self.names))

    def run(self, lanes: CuTryLanes) -> Row:
        verdict = lanes.test.verdict(renamed(self.text, lanes.names))
        row = _row(verdict)
        doubtful = not self.terms.hosted and not verdict.is_known
        return checked(row, GpuGroups(), lambda: row) if doubtful else row

    def lost(self, why: str) -> Row:
        return _row(Verdict(Answer.UNKNOWN, why))


class CuTryLanes:
    """Where a host builds candidates. Raises UsageError where it has other versions."""

    def __init__(self, terms: CuTryTerms, names: Mapping[str, str]) -> None:
        self.names = names
        environment = {**os.environ, **{name: renamed(value, names) for name, value in terms.environment}}
        nvcc = toolkit.find("nvcc", sys.executable, environment)
        if nvcc is None:
            raise UsageError("it has no nvcc: install CUDA's toolkit there, or choose the nodes")
        check_same(dict(_versions(nvcc, terms.hosted)), dict(terms.versions))
        self._folder = tempfile.TemporaryDirectory(prefix="shrink-", ignore_cleanup_errors=True)
        trial = NvccTrial(
            nvcc,
            tuple(renamed(flag, names) for flag in terms.flags),
            terms.name,
            Path(self._folder.name),
            environment=environment,
            hosted=terms.hosted,
            argv=tuple(renamed(word, names) for word in terms.argv),
            cwd=Path(renamed(terms.cwd, names)),
        )
        self._threads = ThreadPoolExecutor(1)
        self.test = NvccTest(trial, terms.fault, terms.seconds, self._threads, terms.keep)

    def headline(self, count: int) -> str:
        return ""

    def close(self) -> None:
        self._threads.shutdown()
        self._folder.cleanup()


@dataclass
class ClusterTest(NvccTest):
    """The test, asked of a cluster's hosts for what the search tries, and of this machine for what it keeps."""

    engine: CellEngine = field(kw_only=True)
    terms: CuTryTerms = field(kw_only=True)
    runs: Counter[str] = field(default_factory=Counter)
    """By host."""

    def judge(self, programs: Sequence[Program]) -> list[Verdict]:
        """Raises ShrinkError where a host cannot build them."""
        texts = [text_of(each) for each in programs]
        verdicts = {at: refused for at, text in enumerate(texts) if (refused := self.refusal(text))}
        asked = [at for at in range(len(texts)) if at not in verdicts]
        for at, row in self.engine.run([CuTryCell(texts[at], self.terms) for at in asked]):
            verdicts[asked[at]] = Verdict(Answer(row["answer"]), row["why"])
            self.runs[row.get("host", "")] += 1
        return self._learnt(programs, [verdicts[at] for at in range(len(texts))])


def cluster_test(test: NvccTest, engine: CellEngine, path: Path, options: CuOptions) -> ClusterTest:
    """The same test of the program at `path`, by a cluster."""
    trial = test.trial
    assert isinstance(trial, NvccTrial)
    changed = {name: value for name, value in options.environment.items() if os.environ.get(name) != value}
    terms = CuTryTerms(
        key=uuid.uuid4().hex,
        flags=trial.flags,
        name=trial.name,
        environment=tuple(changed.items()),
        argv=trial.argv,
        cwd=str(trial.cwd.absolute()),
        hosted=trial.hosted,
        fault=test.fault,
        seconds=test.seconds,
        keep=test.keep,
        folders=outermost((path.parent.absolute(), trial.cwd.absolute())),
        versions=_versions(options.nvcc, trial.hosted),
        accelerator=options.accelerator,
    )
    return ClusterTest(trial, test.fault, test.seconds, test.threads, test.keep, test.names, engine=engine, terms=terms)


def _versions(nvcc: Path, hosted: bool) -> tuple[tuple[str, str], ...]:
    device = {} if hosted else device_versions()
    return (("nvcc", version(nvcc)), *sorted(device.items()))


def _row(verdict: Verdict) -> Row:
    return {"answer": verdict.answer.value, "why": verdict.why}

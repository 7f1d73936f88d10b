"""How candidates will be run, and what the original showed: what calibration comes to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial

from shrinkray_gpu.calibration.mode import Mode
from shrinkray_gpu.calibration.worker_lanes import close_pools
from shrinkray_gpu.judging.cold_tier import full_verdict
from shrinkray_gpu.judging.repetition import RunBatch
from shrinkray_gpu.oracle import Oracle
from shrinkray_gpu.oracle.statistics import Rate
from shrinkray_gpu.oracle.verdict import Verdict
from shrinkray_gpu.runner.pool import Pool
from shrinkray_gpu.runner.run import Run


@dataclass(frozen=True)
class Reproduction:
    """What the original showed."""

    oracle: Oracle
    reference: Run
    faulted: int
    """How many of its `runs` showed the fault."""
    runs: int
    cold_seconds: float
    warm_seconds: float
    versions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """How candidates will be run, with the lanes that are up for it, and what the original showed."""

    seen: Reproduction
    mode: Mode
    pool: Pool
    gpu: bool
    starter: ThreadPoolExecutor
    dry: Pool | None = None

    @property
    def oracle(self) -> Oracle:
        return self.seen.oracle

    @property
    def reference(self) -> Run:
        return self.seen.reference

    @property
    def rate(self) -> Rate | None:
        return self.mode.rate

    @property
    def predicts(self) -> bool:
        """Whether a dry run tells all: that of the original shows a fault in which a device ends each time."""
        return self.mode.dry is not None and self.mode.dry.predicts

    @property
    def excludes(self) -> bool:
        """Whether a candidate is out whose dry run does not show the fault, since that of the original does."""
        return self.mode.dry is not None and self.mode.dry.excludes

    def in_mode(self, mode: Mode) -> Plan:
        """The same plan in this mode. Nowhere else do pools get their terms, as views of the lanes that are up."""
        dry = self.dry.on(mode.dry.terms) if self.dry is not None and mode.dry is not None else None
        return replace(self, mode=mode, pool=self.pool.on(mode.terms), dry=dry)

    def measured(self) -> Plan:
        """The same plan, whose mode tells how much device memory the runs of the original held so far."""
        return self.in_mode(replace(self.mode, peak=max(self.mode.peak, self.pool.peak)))

    def noted(self, note: str) -> Plan:
        """The same plan, whose mode has a note more for the user."""
        return self.in_mode(replace(self.mode, notes=(*self.mode.notes, note)))

    def measure_rate(self, text: str, runs: int) -> Rate:
        """How often a program shows the fault in so many runs, each in a fresh context or process."""
        if self.pool.mode != "cold":
            self.starter.submit(self.pool.start, text).result()
        verdicts = run_batches(self.oracle, self.pool, text)(runs)
        return Rate(sum(verdict.faults for verdict in verdicts), sum(verdict.is_known for verdict in verdicts))

    def close(self) -> None:
        """End all workers."""
        close_pools(self.pool, self.dry)
        self.starter.shutdown()


def run_batches(oracle: Oracle, pool: Pool, source: str) -> RunBatch:
    """Verdicts on runs of one program, as many at once as there are lanes. The worker must be there already."""

    def one(_: int) -> Verdict:
        return full_verdict(oracle, source, pool.script.path.name, partial(pool.run, fresh=True))

    def ask(count: int) -> Sequence[Verdict]:
        with ThreadPoolExecutor(max(1, min(count, pool.jobs))) as threads:
            return list(threads.map(one, range(count)))

    return ask

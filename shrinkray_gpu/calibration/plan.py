"""How candidates will be run, and what the original showed: what calibration comes to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial

from shrinkray_gpu.calibration import perturbation
from shrinkray_gpu.calibration.worker_lanes import closed
from shrinkray_gpu.judging.judge import whole
from shrinkray_gpu.judging.repetition import Ask
from shrinkray_gpu.oracle import Oracle
from shrinkray_gpu.oracle.statistics import Rate
from shrinkray_gpu.oracle.verdict import Verdict
from shrinkray_gpu.runner.pool import Pool
from shrinkray_gpu.runner.run import Run


@dataclass(frozen=True)
class Plan:
    """How candidates will be run, and what the original showed."""

    mode: str
    """`virtual`, `warm` (contexts reused while clean), `fork` (a fresh child each) or `cold` (a process each)."""
    why: str
    oracle: Oracle
    reference: Run
    faulted: int
    runs: int
    cold_seconds: float
    warm_seconds: float
    pool: Pool
    gpu: bool
    starter: ThreadPoolExecutor
    dry: Pool | None = None
    dry_predicts: bool = False
    """Whether the dry run of the original shows the fault: then one that shows none is answer enough."""
    machine_code: bool = True
    """Whether the virtual GPU's kernels are made into machine code: not where the fault shows without."""
    versions: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    rate: Rate | None = None
    """How often the original shows its fault where candidates run; None if it always did."""
    variant: perturbation.Variant | None = None
    """What raises the rate, as text before the program's own; see `perturbed`."""

    def tried(self, text: str, runs: int) -> Rate:
        """How often a program shows the fault in so many runs, each in a fresh context or process."""
        if self.pool.mode != "cold":  # a worker dies with the thread that made it, and this one's may end soon
            self.starter.submit(self.pool.start, text).result()
        verdicts = asking(self.oracle, self.pool, text)(runs)
        return Rate(sum(verdict.faults for verdict in verdicts), sum(verdict.known for verdict in verdicts))

    def close(self) -> None:
        """End all workers."""
        closed(self.pool, self.dry)
        self.starter.shutdown()


def asking(oracle: Oracle, pool: Pool, source: str) -> Ask:
    """Verdicts on runs of one program, as many at once as there are lanes. The worker must be there already."""

    def one(_: int) -> Verdict:
        return whole(oracle, source, pool.script.path.name, partial(pool.run, fresh=True))

    def ask(count: int) -> Sequence[Verdict]:
        with ThreadPoolExecutor(max(1, min(count, pool.jobs))) as threads:
            return list(threads.map(one, range(count)))

    return ask

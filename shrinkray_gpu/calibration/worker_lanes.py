"""Where runs may be made: cold processes at once, and workers that come up meanwhile; and how long a run may take."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from shrinkray_gpu.calibration.limits import Limits
from shrinkray_gpu.device import gpus
from shrinkray_gpu.oracle import Oracle
from shrinkray_gpu.runner import preamble
from shrinkray_gpu.runner.fence import OPENED
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import COLD, Pool, Script
from shrinkray_gpu.runner.shared_gpu import refuse_sharing

FLOOR = 3.0
"""Seconds that any candidate may take, however fast the original is."""
BUILDING = 120.0
"""Seconds more, at most, where the original builds CUDA C++: its own lane run found that build made already. No more
than a few cold runs of it, which build, since a kernel that never ends holds its lane as long."""
PATIENCE = 300.0
"""Seconds that the original may take when no --timeout is given."""
IMPORTS = 20.0
"""Seconds that imports may take in a cold process where the oracle itself sets a limit (`hang:5`)."""
_BUILDS = re.compile(r"\bcpp_extension\b|\b_compile_kernel\b")


@dataclass(frozen=True)
class LaneSet:
    """Where runs may be made: cold processes at once, workers that come up meanwhile. They are for one preamble."""

    cold: Pool
    starter: ThreadPoolExecutor
    """Workers die with the thread that started them: these live as long as the plan."""
    forking: Setup
    warm: Pool | None = None
    started: Future[Mapping[str, Any]] | None = None
    """What the worker of `warm` says of its interpreter."""
    dry: Pool | None = None
    dry_started: Future[Mapping[str, Any]] | None = None

    def cheapest(self, oracle: Oracle | None) -> Pool:
        """Where further runs of the program are cheapest: in a worker, if that runs it as a cold process would."""
        if self.warm is None or self.started is None or not (oracle is None or oracle.needs.run):
            return self.cold
        report, gpu = self.started.result(), self.forking.arch is None and gpus.present()
        return self.cold if gpu and (report["touched"] or report["spoilt"]) else self.warm

    def unfenced(self, oracle: Oracle | None) -> Pool:
        """The cheapest ones for the program itself, with no more of a fence than keeps its writes in: what else holds
        candidates may hide its fault, or end it by one of our own making."""
        return self.cheapest(oracle).leaving_open(OPENED)

    def up(self, oracle: Oracle, *, wait: bool = False) -> Pool | None:
        """The worker's lanes, if it has come up and runs the program as a cold process would. `wait`: until it has."""
        if self.started is None or not (wait or self.started.done()) or self.started.exception() is not None:
            return None
        pool = self.cheapest(oracle)
        return None if pool is self.cold else pool

    def import_for(self, source: str) -> bool:
        """Whether their workers import all that `source` does: what is missing each of its runs would import."""
        own = {name for name in preamble.read(source).imports if name.partition(".")[0] not in sys.stdlib_module_names}
        return own.issubset(self.forking.imports)

    def fitting(self, oracle: Oracle) -> LaneSet:
        """The same lanes, as the oracle asks: with its static rules and no others, since the program may break one that
        is beside the point; one at a time where the question is how long a run takes."""
        cold, warm, dry = (fitting(pool, oracle) for pool in (self.cold, self.warm, self.dry))
        assert cold is not None
        return replace(self, cold=cold, warm=warm, dry=dry)

    def close(self) -> None:
        close_pools(self.warm, self.dry)
        self.starter.shutdown()


def time_limits(oracle: Oracle | None, timeout: float | None) -> tuple[float, float]:
    """Seconds for the original, and how many more of them for a cold process.

    A limit that the user sets is meant for `python FILE`, imports and all; the oracle's own is for the rest."""
    own = oracle.needs.seconds if oracle else None
    return own or timeout or PATIENCE, IMPORTS if own else 0.0 if timeout else COLD


def cold_lanes(
    script: Script,
    setup: Setup,
    *,
    oracle: Oracle | None,
    limits: Limits,
) -> Pool:
    """A process of its own for each run. Raises UsageError where none may run at all."""
    refuse_sharing(setup)
    seconds, extra = time_limits(oracle, limits.timeout)
    return Pool(
        script,
        setup,
        mode="cold",
        jobs=limits.jobs,
        seconds=seconds,
        extra=extra,
        groups=limits.groups,
        hosts=limits.hosts,
    )


def open_lanes(
    source: str,
    script: Script,
    setup: Setup,
    *,
    oracle: Oracle | None,
    limits: Limits,
) -> LaneSet:
    """Bring up the workers that fit `source`, beside whatever runs cold meanwhile."""
    gpu = setup.arch is None and gpus.present()
    if oracle and oracle.needs.timing and limits.hosts is None:
        limits = replace(limits, jobs=1)
    jobs, groups, mode = limits.jobs, limits.groups, limits.mode
    cold = cold_lanes(script, setup, oracle=oracle, limits=limits)
    # Triton, too, though the script may not import it by itself: each child would, to watch its launches (0.3 s).
    imports = (*preamble.read(source).imports, *setup.imports, *([] if setup.plain else ["triton"]))
    if "_compile_kernel" in source:  # which asks it where CUDA's headers are
        imports += ("torch.utils.cpp_extension",)
    forking = replace(setup, imports=imports, warm=gpu, reuse=gpu and mode != "fork")
    lanes = LaneSet(cold, ThreadPoolExecutor(2, thread_name_prefix="starter"), forking)
    try:
        if mode != "cold":
            name = "virtual" if setup.arch else "fork"
            pool = Pool(
                script,
                forking,
                mode=name,
                jobs=jobs,
                seconds=cold.seconds,
                extra=cold.extra,
                groups=groups,
                hosts=limits.hosts,
            )
            lanes = replace(lanes, warm=pool, started=lanes.starter.submit(pool.start, source))
        # Under compute-sanitizer each try is a process of its own: what need not get there must not.
        sanitized = oracle is not None and bool(oracle.needs.sanitizer)
        arch = gpus.capability() if gpu and (mode is None or sanitized) else None
        if arch:
            virtual = replace(forking, arch=arch, warm=False, reuse=False)
            bare = replace(script, asserts=False, sanitizer="")
            dry = Pool(bare, virtual, mode="virtual", jobs=jobs, seconds=cold.seconds)
            lanes = replace(lanes, dry=dry, dry_started=lanes.starter.submit(dry.start, source))
    except BaseException:
        lanes.close()
        raise
    return lanes


def fitting(pool: Pool | None, oracle: Oracle) -> Pool | None:
    if pool is not None and pool.script.wants != oracle.needs.wants:
        pool = pool.serving(replace(pool.script, wants=oracle.needs.wants), seconds=pool.seconds)
    if pool is not None and oracle.needs.timing and pool.jobs > 1 and pool.hosts is None:
        return pool.on(replace(pool.terms, jobs=1))
    return pool


def builds(source: str) -> bool:
    """Whether it has CUDA C++ compiled, which takes much longer the first time."""
    return bool(_BUILDS.search(source))


def close_pools(*pools: Pool | None) -> tuple[None, None]:
    for pool in pools:
        if pool is not None:
            pool.close()
    return None, None

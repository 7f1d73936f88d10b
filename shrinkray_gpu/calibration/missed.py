"""A run that shows no fault may have missed a flaky one: how often the program is run again before that is believed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from shrinkray_gpu.calibration.absent import faultless, is_clean, rule_broken
from shrinkray_gpu.calibration.worker_lanes import LaneSet
from shrinkray_gpu.errors import NotReproduced
from shrinkray_gpu.judging.cold_tier import full_verdict
from shrinkray_gpu.judging.repetition import PROGRAMMING
from shrinkray_gpu.oracle import Fault, Oracle, adopt, obstacle
from shrinkray_gpu.oracle.fault import FRONT_END
from shrinkray_gpu.oracle.verdict import Verdict
from shrinkray_gpu.runner.inside.static.rules import ASKED, RULES
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.runner.run import Run

FURTHER = 20
"""Runs more of a program that did not show its fault, which may be a flaky one: a fault in a seventh of all runs shows
in 20 of them with 95 %."""
VIRTUAL = 1
"""The same on the virtual GPU, where chance has no part but in the host's own work."""
FURTHER_SECONDS = 120.0
"""For these, and then enough."""
BESIDE = 30.0
"""Seconds for a run on the virtual GPU of what a real one does not show."""
UNCOMPUTED = "#?"
"""In the description of an argument: see `Launch.args`."""
ALIKE = 3
"""Runs that end in one and the same other fault: that is no chance, and most likely the oracle is wrong. So
many are enough under compute-sanitizer, too, which looks at each access and leaves little to chance."""


def runs_until_fault(colds: list[Run], source: str, lanes: LaneSet) -> tuple[list[Run], Run]:
    """All runs until one shows a fault worth adopting, and that run. Raises NotReproduced where all end well."""
    seen, until = list(colds), time.monotonic() + FURTHER_SECONDS
    while True:
        for run in seen:
            if adopt(run) is not None:
                return seen, run
        if not all(map(is_clean, seen)):
            return seen, next(run for run in seen if not is_clean(run))
        left = further(lanes.cold.setup) + 1 - len(seen)
        if left <= 0 or time.monotonic() > until:
            raise NotReproduced(faultless(seen, _beside(seen[0], lanes.dry, source)))
        pool = lanes.unfenced(None)
        seen += several(pool, source, min(left, pool.jobs))


def once_more(seen: list[Run], verdicts: list[Verdict], oracle: Oracle, source: str, lanes: LaneSet) -> None:
    """Chance may have kept the fault away: add runs until one shows it, or until it is not worth asking any more."""
    most, until = further(lanes.cold.setup) + 1, time.monotonic() + FURTHER_SECONDS
    most = min(most, ALIKE) if oracle.needs.sanitizer else most
    while _chance(seen, verdicts, oracle) and len(seen) < most and time.monotonic() < until:
        pool = lanes.unfenced(oracle)
        hasty = len(seen) < ALIKE and (not oracle.needs.run or not is_clean(seen[0]))
        alike = ALIKE - len(seen) if hasty else FURTHER
        for run in several(pool, source, min(most - len(seen), pool.jobs, alike)):
            seen.append(run)
            verdicts.append(verdict_on(oracle, source, pool.script, run))


def _chance(seen: Sequence[Run], verdicts: Sequence[Verdict], oracle: Oracle) -> bool:
    """Whether chance may be what kept the fault away in all of these runs, so that one more is worth its time."""
    if any(verdict.faults for verdict in verdicts):
        return False
    for run, verdict in zip(seen, verdicts):
        if not verdict.is_known or run.timed_out or obstacle(run):
            return False
        if run.failure is not None and run.failure.type in {*PROGRAMMING, "PermissionError"}:
            return False
        fault = Fault.of(run)
        if fault is not None and (FRONT_END.search(fault.klass) or fault.klass == "out of resource"):
            return False  # what Triton's front end refuses it refuses each time, and so is a tile that is too large
    if not oracle.needs.run:  # the user's own script, which may take its time
        return len(seen) < ALIKE
    if all(map(is_clean, seen)):
        return True
    faults = [Fault.of(run) for run in seen]
    first = faults[0]
    alike = first is not None and all(fault is not None and not first.difference(fault) for fault in faults)
    return not alike or len(seen) < ALIKE


def no_kernel_ran(run: Run) -> bool:
    """Whether a run on the virtual GPU may have missed the fault since that hangs on what a kernel writes."""
    if not run.virtual or run.trouble or run.timed_out or kernels_ran(run):
        return False
    return any(launch.guessed or any(UNCOMPUTED in each for each in launch.args) for launch in run.launches)


def kernels_ran(run: Run) -> bool:
    """Whether Triton's interpreter ran a kernel there."""
    return any(launch.interpreted for launch in run.launches)


def beside_the_point(seen: Sequence[Run], oracle: Oracle, source: str, lanes: LaneSet) -> str:
    """What static rules that were not asked for say of a program that runs to its end. A GPU lets most accesses pass
    that leave their tensor by little, and the virtual one is asked beside it."""
    if not (oracle.needs.run and all(map(is_clean, seen))):
        return ""
    return _beside(seen[0], lanes.cheapest(oracle) if seen[0].virtual else lanes.dry, source)


def _beside(seen: Run, pool: Pool | None, source: str) -> str:
    """The same of a virtual GPU, which on a machine with a GPU stands beside that, and may take far longer."""
    if pool is None:
        return ""
    wants = tuple(ASKED + rule.name for rule in RULES)
    if seen.virtual:
        return rule_broken(pool.run(source, fresh=True, wants=wants))
    pool = pool.on(replace(pool.terms, seconds=min(BESIDE, pool.seconds)))
    return rule_broken(pool.run(source, fresh=True, wants=wants), pool.setup.arch)


def further(setup: Setup) -> int:
    """How many runs more are worth their time, of a program that did not show its fault in the first."""
    return FURTHER if setup.arch is None else VIRTUAL


def several(pool: Pool, source: str, count: int) -> list[Run]:
    with ThreadPoolExecutor(max(1, min(count, pool.jobs))) as threads:
        return list(threads.map(lambda _: pool.run(source, fresh=True), range(count)))


def verdict_on(oracle: Oracle, source: str, script: Script, run: Run) -> Verdict:
    return full_verdict(oracle, source, script.path.name, lambda _: run)

"""Runs of the program on a virtual GPU of the real one's architecture: only there is it known where a fault begins."""

from __future__ import annotations

from dataclasses import replace

from shrinkray_gpu.device import gpus
from shrinkray_gpu.oracle import Oracle
from shrinkray_gpu.runner.inside.launches.launch_log import INTERPRETED
from shrinkray_gpu.runner.pool import Pool
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.same_fault.healthy_twin import WANTS
from shrinkray_gpu.start.given import UserProgram

SECONDS = 30.0
"""For one run. A large program takes far longer without a GPU, and is then lifted as if nobody knew."""


def virtual_pool(given: UserProgram) -> Pool | None:
    """Where the program runs as on the virtual GPU; None where nobody tells what the real one is."""
    arch = gpus.capability()
    if arch is None:
        return None
    script = replace(given.script, asserts=False, wants=WANTS, sanitizer="")  # no value of a float is right there
    return Pool(script, replace(given.setup, arch=arch), mode="cold", jobs=1, seconds=SECONDS).forking()


def virtually(pool: Pool, oracle: Oracle, text: str) -> tuple[Pool, Run]:
    """A run of the text there that shows the fault, if any does: as it is, or where kernels run, whose results it may
    hang on; and the pool for more of that sort."""
    run = pool.cold(text)
    if oracle.judge(run).faults:
        return pool, run
    pool = pool.serving(replace(pool.script, wants=(*pool.script.wants, INTERPRETED)), seconds=pool.seconds)
    return pool, pool.cold(text)

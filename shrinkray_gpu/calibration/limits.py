"""What the user lets runs have: how many at a time, for how long, on which GPUs, and in which mode."""

from __future__ import annotations

from dataclasses import dataclass, field

from shrinkray_gpu.runner.gpu_groups import GpuGroups
from shrinkray_gpu.runner.pool import OtherHosts


@dataclass(frozen=True)
class Limits:
    """What the user sets for all runs of a reduction."""

    jobs: int
    timeout: float | None = None
    """Seconds for `python FILE`, imports and all; None: a few times what the original takes."""
    groups: GpuGroups = field(default_factory=GpuGroups)
    """Of GPUs, each with lanes of its own. All runs share this one, so that a sick GPU is left out of all."""
    mode: str | None = None
    """`cold` or `fork`, where the user insists on it; None: the cheapest that stands for a cold process."""
    hosts: OtherHosts | None = None
    """Machines that run the candidates in place of this one."""

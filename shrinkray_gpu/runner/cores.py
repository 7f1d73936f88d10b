"""How many cores there are for this process."""

import os


def usable() -> int:
    """Cores that this process may run on: fewer than the machine has under taskset, or in a container with a cpuset.
    A quota of CPU time is not seen."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1

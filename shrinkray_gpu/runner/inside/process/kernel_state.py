"""What the kernel keeps of a process, and one candidate may change for the next: its limits, its user, its priority."""

from __future__ import annotations

import os
from typing import Dict

SHOWN = (
    *("Umask", "Uid", "Gid", "Groups", "CapEff", "NoNewPrivs", "Seccomp", "Seccomp_filters"),
    *("Cpus_allowed", "Mems_allowed"),
)
"""Lines of /proc/self/status."""


def state() -> Dict[str, str]:
    """By names that a user understands."""
    found = {"Priority": str(os.getpriority(os.PRIO_PROCESS, 0))}
    with open("/proc/self/status") as told:
        found.update({line.partition(":")[0]: line for line in told if line.startswith(SHOWN)})
    with open("/proc/self/limits") as told:
        found["Limits"] = told.read()
    return found


def changed(before: Dict[str, str]) -> str:
    """Which of them is another now; empty where none is."""
    try:
        now = state()
    except OSError as error:  # no file can be opened any more
        return f"the process cannot tell its state: {error.strerror}"
    return next((f"{name} of the process was changed" for name in before if now.get(name) != before[name]), "")

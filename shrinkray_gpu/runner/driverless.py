"""An environment in which no driver is found, for the virtual GPU on a machine that has a real one."""

from __future__ import annotations

import os
from collections.abc import Mapping


def driverless(scratch: str, environment: Mapping[str, str]) -> dict[str, str]:
    """What to set so that no driver is found. NVRTC starts it (CUDA 13.0), and in a child of a process that had started
    it and seen no group it died of SIGSEGV on an H100, or waited until its time was over."""
    folder = os.path.join(scratch, "driverless")
    os.makedirs(folder, exist_ok=True)
    open(os.path.join(folder, "libcuda.so.1"), "a").close()  # "file too short", and nothing is looked for further
    path = [folder, environment.get("LD_LIBRARY_PATH", "")]
    return {"LD_LIBRARY_PATH": os.pathsep.join(filter(None, path))}

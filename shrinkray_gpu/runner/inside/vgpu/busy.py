"""What the device has to do before it comes to a copy: as long as that takes, the host may overwrite what is copied.

How long it takes nobody knows without a GPU. So a candidate is asked for the very same: kernels by their IR, grids and
numbers, and what torch computes that takes long.
"""

from __future__ import annotations

from typing import Tuple

from .gpu import Gpu

MOST = 64
"""Of the last things to do."""


def words(gpu: Gpu) -> Tuple[str, ...]:
    """One for each thing that the device was given to do since the host last waited for it."""
    launches = [
        "%s %s %s"
        % (gpu.watch.ttir_key(each["hash"])[:16], each["grid"], [arg for arg in each["args"] if "[" not in arg])
        for each in gpu.watch.queued[-MOST:]
    ]
    return tuple(sorted(launches + gpu.worked[-MOST:]))

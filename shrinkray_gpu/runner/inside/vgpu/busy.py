"""What the device has to do before it comes to a copy: as long as that takes, the host may overwrite what is copied.

How long it takes nobody knows without a GPU. So a candidate is asked for the very same: kernels by their IR, grids and
numbers, and what torch computes that takes long.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Tuple

from ..launches.launch_log import Record
from .gpu import Gpu

MOST = 64
"""Of the last things to do."""


@dataclass(frozen=True)
class Busy:
    """What a GPU was given to do since the host last waited for it."""

    gpu: Gpu
    launches: Tuple[Record, ...]
    worked: Tuple[str, ...]

    @classmethod
    def now(cls, gpu: Gpu) -> "Busy":
        return cls(gpu, tuple(gpu.watch.queued(MOST)), tuple(gpu.worked[-MOST:]))

    @property
    def words(self) -> Tuple[str, ...]:
        """One for each of these things."""
        return tuple(sorted((*map(self._word, self.launches), *self.worked)))

    def _word(self, launch: Record) -> str:
        numbers = [each for each in launch["args"] if "[" not in each]
        return "%s %s %s" % (self.gpu.watch.ttir_key(launch["hash"])[:16], launch["grid"], numbers)

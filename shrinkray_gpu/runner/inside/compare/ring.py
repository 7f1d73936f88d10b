"""Ring: a fixed piece of memory beside the tensors of a program, in which copies of the latest of them are kept.

Taken once, before the first launch that is observed: an allocation between two launches may wait for the device, and
faults of timing would be gone. The copies are made on the program's own stream, so nothing waits for them either.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Deque, Dict, NamedTuple, Optional, Tuple

Record = Dict[str, Any]

STEP = 64


class Ring:
    def __init__(self, memory: Any) -> None:
        self.memory = memory
        """A uint8 tensor."""
        self.filled = 0
        self._at = 0
        self._held: Deque[Tuple[int, Record]] = deque()
        """Where copies start and the launches they belong to, oldest first."""

    def copy(self, tensor: Any, launch: Record) -> Optional["Copy"]:
        """Copy this uint8 tensor. Launches whose copies give way to it are marked as `dropped`; None if this very
        launch is, since it alone holds more than there is room for."""
        size = tensor.numel()
        if size > self.memory.numel():
            launch["dropped"] = True
        if launch["dropped"]:
            return None
        if self._at + size > self.memory.numel():
            self._drop(self._at, self.memory.numel())
            self._at = 0
        self._drop(self._at, self._at + size)
        if launch["dropped"]:
            return None
        copy = Copy(self, self._at, size)
        self.memory[self._at : self._at + size].copy_(tensor, non_blocking=True)
        self._held.append((self._at, launch))
        self._at += -(-size // STEP) * STEP
        self.filled = max(self.filled, self._at)
        return copy

    def read(self) -> Any:
        """All that was ever filled, on the CPU. Waits for the device."""
        return self.memory[: self.filled].cpu()

    def _drop(self, start: int, end: int) -> None:
        while self._held and start <= self._held[0][0] < end:
            self._held.popleft()[1]["dropped"] = True


class Copy(NamedTuple):
    ring: Ring
    start: int
    size: int

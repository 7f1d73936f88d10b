"""Which cells are this process's, where `count` processes on as many machines share a list of them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from shrinkray_gpu.errors import UsageError

T = TypeVar("T")


@dataclass(frozen=True)
class Shard:
    """Number `index` of `count`, from 1.

    A shard has neighbours in the list, which share a place: it opens few places, and installs few releases.
    """

    index: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """`2/3`. Raises UsageError."""
        found = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text)
        if found is None or not 1 <= int(found[1]) <= int(found[2]):
            raise UsageError(f"--shard {text}: write 2/3 for the second of three; the first is 1/3")
        return cls(int(found[1]), int(found[2]))

    def part(self, total: int) -> range:
        """Which of so many cells are its own; all parts together are all, in their order."""
        return range((self.index - 1) * total // self.count, self.index * total // self.count)

    def of(self, every: Sequence[T]) -> list[T]:
        return [every[index] for index in self.part(len(every))]

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"


def digest(asked: Sequence[str]) -> str:
    """Of what the cells of a list ask: shards of different lists do not belong together."""
    return hashlib.sha256("\n".join(asked).encode()).hexdigest()[:16]

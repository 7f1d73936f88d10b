"""What compute-sanitizer saw first of a kernel, in a form that a candidate's can be compared with.

Two illegal memory accesses of two kernels end a program by the same words. The record tells them apart: by kernel,
kind, size, and where the address lies. A pointer that nobody allocated is far from every allocation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shrinkray_gpu.device.record import Record
from shrinkray_gpu.runner.inside.cuda_cpp.host_code import plain_name
from shrinkray_gpu.runner.launch_recorder import Room

FAR = 1 << 32
"""Bytes from the nearest allocation. Null, and what an uninitialised pointer holds, are farther off on every GPU."""

FACTORS = (2, 4, 8)


@dataclass(frozen=True)
class DeviceSight:
    """The first access that memcheck found."""

    kernel: str
    kind: str
    """`Invalid __global__ write`."""
    size: int
    """Bytes of the access; 0 where the record does not say."""
    misaligned: bool
    place: str
    """`after` or `before` the nearest allocation, `far` from all, or empty where the record does not say."""

    def __str__(self) -> str:
        of_size = f" of {self.size} bytes" if self.size else ""
        where = {"after": ", behind an allocation", "before": ", before an allocation", "far": ", far from all memory"}
        aligned = ", misaligned" if self.misaligned and "misaligned" not in self.kind.casefold() else ""
        return f"{self.kind}{of_size} in {self.kernel}{aligned}{where.get(self.place, '')}"

    def drift(self, found: DeviceSight | None) -> str:
        """Why what was found is another fault; empty where it is the same."""
        if found is None:
            return f"compute-sanitizer does not see {self}"
        return "" if found == self else f"compute-sanitizer sees {found}, and saw {self}"


    def rooms(self) -> tuple[Room, ...]:
        """The controls after which nothing may be wrong: where memory is too small for an access by some times."""
        if self.misaligned or self.place not in ("", "after"):
            return ()
        kind = "shared" if "__shared__" in self.kind else "memory" if self.place else ""
        return tuple(Room(kind, factor) for factor in FACTORS) if kind else ()


def first_sight(records: Sequence[Record]) -> DeviceSight | None:
    """None where no record is of a kernel."""
    first = next((each for each in records if each.kernel), None)
    if first is None:
        return None
    place = "" if first.misaligned else "far" if first.distance >= FAR else first.side
    return DeviceSight(plain_name(first.kernel), first.kind, first.size, first.misaligned, place)

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

PRINTED = 100
"""Records that compute-sanitizer prints, however many there are."""
FACTORS = (1, 2, 4, 8)
"""Of memory. With the first one the record must still be there, or the control itself hides it."""


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
    """`near` an allocation, `far` from all, or empty where the record does not say. Which allocation is nearest, behind
    it or before it, hangs on where others lie."""

    leading: bool = False
    """Of a misaligned access: whether a block's first thread makes one. Where it does, the thread's own number is not
    what the address lacks."""

    def __str__(self) -> str:
        of_size = f" of {self.size} bytes" if self.size else ""
        where = {"near": ", near an allocation", "far": ", far from all memory"}
        aligned = ", misaligned" if self.misaligned and "misaligned" not in self.kind.casefold() else ""
        leading = ", by a block's first thread too" if self.leading else ""
        return f"{self.kind}{of_size} in {self.kernel}{aligned}{where.get(self.place, '')}{leading}"

    def drift(self, found: DeviceSight | None) -> str:
        """Why what was found is another fault; empty where it is the same."""
        if found is None:
            return f"compute-sanitizer does not see {self}"
        return "" if found == self else f"compute-sanitizer sees {found}, and saw {self}"

    def rooms(self) -> tuple[Room, ...]:
        """The controls after which nothing may be wrong: where memory is too small for an access by some times."""
        if self.misaligned or self.place == "far":
            return ()
        kind = "shared" if "__shared__" in self.kind else "memory" if self.place else ""
        return tuple(Room(kind, factor) for factor in FACTORS) if kind else ()


def first_sight(records: Sequence[Record]) -> DeviceSight | None:
    """None where no record is of a kernel."""
    first = next((each for each in records if each.kernel), None)
    if first is None:
        return None
    place = "" if first.misaligned or not first.distance else "far" if first.distance >= FAR else "near"
    of_it = [each for each in records if each.misaligned and each.kernel == first.kernel]
    leading = first.misaligned and any(each.thread == "(0,0,0)" for each in of_it)
    return DeviceSight(plain_name(first.kernel), first.kind, first.size, first.misaligned, place, leading)


def is_settled(records: Sequence[Record]) -> bool:
    """Whether further records of the same run change nothing in the first sight."""
    sight = first_sight(records)
    return sight is not None and (not sight.misaligned or sight.leading or len(records) >= PRINTED)

"""A finding of a vendor's sanitizer, of one thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Record:
    """One finding."""

    tool: str
    title: str
    """`Invalid __global__ write of size 4 bytes`."""
    kind: str
    """What stays of the title through a reduction."""
    access: str = ""
    """`read`, `write`; empty where the record does not say."""
    size: int = 0
    space: str = ""
    """`global`, `shared`, `local`; empty where the record does not say, or says "shared or local"."""
    kernel: str = ""
    """Empty for what is found on the host: an API call that returns an error."""
    offset: int = -1
    """Of the instruction from the kernel's start, in bytes; -1: not told."""
    file: str = ""
    line: int = 0
    thread: str = ""
    block: str = ""
    notes: tuple[str, ...] = ()
    """What it says of the address: distance from the nearest allocation."""
    text: str = ""
    """The whole record, with the host's backtrace."""
    device_text: str = ""
    """The record without what it says of the host."""
    misaligned: bool = False
    """Whether the address is not a multiple of what the access needs; else it is out of bounds."""
    distance: int = 0
    """In bytes, from the nearest allocation; 0 inside of one, or where it is not told."""


def group_records(found: Sequence[Record]) -> tuple[tuple[Record, int], ...]:
    """The first record of each kind and place, with how many there are: a faulting warp makes 32 of them."""
    kinds: dict[tuple[object, ...], list[Record]] = {}
    for one in found:
        key = (one.kind, one.kernel, one.offset if one.kernel else 0)
        kinds.setdefault(key, []).append(one)
    return tuple((same[0], len(same)) for same in kinds.values())

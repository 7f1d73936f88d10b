"""What the static rule `tma-alignment` lets the issue say: the address of the copy, and what would explain it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shrinkray_gpu.attachment.experiments import Experiment, KnobResults
from shrinkray_gpu.runner.inside.static.tma import ALIGNMENT
from shrinkray_gpu.runner.inside.static.ttgir import bits

_REASON = re.compile(
    r"TMA (load|store) of ((?:\d+x)*)([a-z]\w*), stages (\d+) bytes apart, address in shared memory (\d+) mod (\d+)"
)


@dataclass(frozen=True)
class MisalignedCopy:
    """A TMA copy whose end in shared memory is not aligned."""

    way: str
    tile: tuple[int, ...]
    dtype: str
    apart: int
    """Bytes between two stages of its buffer."""
    residue: int
    """Of the destination's offset, modulo 128."""
    size: int
    """Bytes of one element."""

    @classmethod
    def of(cls, reason: str) -> MisalignedCopy | None:
        """From the rule's reason; None where that does not tell of a tile."""
        found = _REASON.search(reason)
        if found is None:
            return None
        tile = tuple(int(one) for one in found.group(2).split("x") if one)
        dtype = found.group(3)
        return cls(found.group(1), tile, dtype, int(found.group(4)), int(found.group(5)), bits(dtype) // 8)

    def address(self) -> Iterator[tuple[str, str, str]]:
        """Rows of the table of the address: what, its value, what that rests on."""
        yield "tile", f"{_shape(self.tile)} of {self.dtype}: {self._bytes(self.tile)} bytes", "TTGIR"
        yield "distance of two stages in the buffer", f"{self.apart} bytes", "TTGIR"
        yield (
            "destination" if self.way == "load" else "source",
            f"**{self.residue} modulo {ALIGNMENT}**, counted from the start of its buffer",
            "static rule, on TTGIR and the launch's arguments",
        )

    def resized(self, row: KnobResults, one: Experiment) -> str:
        """What the access is with this experiment's value, in brackets; empty where that changes nothing of it."""
        extents = [str(extent) for extent in self.tile]
        if row.kind != "tile" or row.current not in extents:
            return ""
        at = len(extents) - 1 if row.innermost else extents.index(row.current)
        if extents[at] != row.current:
            return ""
        shape = [int(one.value) if index == at else extent for index, extent in enumerate(self.tile)]
        return f" ({_shape(shape)}: {self._bytes(shape)} bytes)"

    def hypothesis(self, rows: Sequence[KnobResults]) -> Iterator[str]:
        """What would explain the experiments, and how they bear it out."""
        if self.residue == 0:
            return
        yield (
            f"The pipelined loop keeps its tiles in one buffer, {self.apart} bytes apart. {self.apart} is no multiple "
            f"of {ALIGNMENT}, so not every stage begins where TMA wants its destination."
        )
        stages = [row for row in rows if row.kind == "stages" and row.matters]
        wide = [row for row in rows if row.kind == "tile" and row.matters]
        if stages:
            yield f"It predicts that few stages pass, since they need one buffer only. Seen: {stages[0].boundary}."
        for row in wide:
            near = row.nearest
            yield (
                f"It predicts that tiles of a multiple of {ALIGNMENT} bytes pass. Seen for the extent {row.current}: "
                f"{row.boundary}; {near.value} is the first{self.resized(row, near)}."
            )
        idle = [row.name for row in rows if row.matters is False]
        if idle:
            yield f"What it does not speak of does not matter: {', '.join(idle)}."

    def _bytes(self, shape: Sequence[int]) -> int:
        return math.prod(shape) * self.size


def _shape(extents: Sequence[int]) -> str:
    return "x".join(map(str, extents))

"""Where instruments saw a fault, and what they say together: kernel, offset, instruction, line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from shrinkray_gpu.device import disassembly
from shrinkray_gpu.device.instruction import Instruction, at
from shrinkray_gpu.device.record import Record
from shrinkray_gpu.oracle.fault import MISALIGNED


@dataclass(frozen=True)
class Sight:
    """Where an instrument saw the fault."""

    kernel: str
    offset: int = -1
    instruction: str = ""
    file: str = ""
    line: int = 0
    column: int = -1
    family: str = ""
    """Of the instruction, where no instruction is known: what the operation on this line becomes."""


def telling(records: Sequence[Record], sights: Sequence[Sight], code: int = 0) -> Record | None:
    """The record of the fault itself, which has this code of the driver's: the sanitizer also sees accesses that the
    device lets pass. Where nobody saw the instruction it is the one that went farthest from all allocations: what is
    near them is often mapped."""
    of_kernels = [one for one in records if one.kernel and not one.kernel.startswith("__")]
    exact = next((one for one in sights if one.offset >= 0), None)
    if exact is not None:
        return next((one for one in of_kernels if (one.kernel, one.offset) == (exact.kernel, exact.offset)), None)
    alike = [one for one in of_kernels if code and one.misaligned == (code == MISALIGNED)] or of_kernels
    far = max(alike, key=lambda one: one.distance, default=None)
    return next((one for one in alike if far and (one.kernel, one.offset) == (far.kernel, far.offset)), None)


def of_record(record: Record | None) -> list[Sight]:
    return [Sight(record.kernel, record.offset, "", record.file, record.line)] if record is not None else []


def agrees(sass: Sequence[Instruction], sight: Sight, text: str) -> bool:
    """Whether the code that we compiled has, at this offset, the kind of instruction that was seen."""
    there = at(sass, sight.offset)
    return there is not None and disassembly.family(there.text) == disassembly.family(text)


def complete(sights: Sequence[Sight], sass: Sequence[Instruction]) -> Sight:
    """The first sight, with what only the others tell, and with the instruction at its offset."""
    if not sights:
        return Sight("")
    first = sights[0]
    for other in sights[1:]:
        if other.kernel != first.kernel:
            continue
        if first.offset < 0:
            first = replace(first, offset=other.offset, instruction=other.instruction)
        if not first.line:
            first = replace(first, file=other.file, line=other.line)
        if not first.family:
            first = replace(first, family=other.family)
        if other.line == first.line and first.column < 0:
            first = replace(first, column=other.column)
    there = at(sass, first.offset)
    if there is not None and not first.instruction:
        first = replace(first, instruction=there.text)
    if there is not None and not first.line:
        first = replace(first, file=there.file, line=there.line)
    return first

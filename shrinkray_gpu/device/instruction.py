"""Instructions of a kernel as a disassembler lists them, and questions to such a list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

Opcodes: TypeAlias = "frozenset[tuple[str, int]]"
"""Families of instructions, each with the bytes of a thread's access."""


@dataclass(frozen=True)
class Instruction:
    """One instruction of a kernel."""

    offset: int
    """In bytes from the kernel's start."""
    text: str
    """`@UP2 UTMALDG.2D [UR12], [UR6]`."""
    file: str = ""
    line: int = 0
    """Of the source, where the cubin has a line table; else 0."""


@dataclass(frozen=True)
class MemoryEffect:
    """What an opcode does to memory."""

    space: str = ""
    """`global`, `shared`, `local`, `constant`; empty for a generic or no access."""
    access: str = ""
    """`read` or `write`. A read-modify-write counts as a write."""
    size: int = 0
    """Bytes of one thread's access; 0 for bulk copies, whose size is in a descriptor or a register."""


def holds(code: Opcodes, name: str, size: int = 0) -> bool:
    """Whether an instruction of this family is among them; with `size`, one of so many bytes a thread (a bulk copy,
    whose size no opcode tells, is of any)."""
    return any(each == name and (not size or width in (0, size)) for each, width in code)


def at(instructions: Sequence[Instruction], offset: int) -> Instruction | None:
    """The instruction at this offset."""
    return next((one for one in instructions if one.offset == offset), None)


def around(instructions: Sequence[Instruction], offset: int, lines: int = 3) -> tuple[Instruction, ...]:
    """The instruction at `offset` with so many before and after it."""
    index = next((index for index, one in enumerate(instructions) if one.offset == offset), None)
    return () if index is None else tuple(instructions[max(0, index - lines) : index + lines + 1])

"""SASS: a cubin's instructions with offset and source line, and what an opcode says of the memory that it touches."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from shrinkray_gpu.device.instruction import Instruction, MemoryEffect, Opcodes
from shrinkray_gpu.device.nvidia import toolkit
from shrinkray_gpu.device.own_commands import run_command

SECONDS = 60.0
_SECTION = re.compile(r"^\s*\.section\s+\.text\.([^,\s]+)")
_SOURCE = re.compile(r'^\s*//## File "([^"]*)", line (\d+)')
_CODE = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;\s*(?:/\*.*)?$")
_OPCODE = re.compile(r"^(?:\{\s*)?(?:@!?\w+\s+)?([A-Z][A-Z0-9_]*)((?:\.[A-Za-z0-9_]+)*)")


def _by_opcode(table: Mapping[tuple[str, str], str]) -> dict[str, tuple[str, str]]:
    return {opcode: effect for effect, opcodes in table.items() for opcode in opcodes.split()}


_BULK = _by_opcode(
    # Of the two ends of a bulk copy the one in shared memory is named: it is what TMA's alignment faults are about,
    # while extents and base of the end in global memory are checked when the descriptor is made.
    {
        ("shared", "write"): "UTMALDG",
        ("shared", "read"): "UTMASTG UTMAREDG UBLKRED HGMMA IGMMA QGMMA UTCHMMA UTCQMMA UTCIMMA",
        ("global", "read"): "UTMAPF UBLKPF",
    }
)
_SIMPLE = _by_opcode(
    {
        ("global", "read"): "LDG LD LDGSTS",
        ("global", "write"): "STG ST ATOM ATOMG RED REDG",
        ("shared", "read"): "LDS",
        ("shared", "write"): "STS STAS ATOMS SYNCS",
        ("local", "read"): "LDL",
        ("local", "write"): "STL",
        ("constant", "read"): "LDC LDCU ULDC",
    }
)
"""`LD`, `ST`, `ATOM` are generic, and nearly always global: a compiler that knows better says so."""
_WIDTHS = {"U8": 1, "S8": 1, "8": 1, "U16": 2, "S16": 2, "16": 2, "32": 4, "64": 8, "128": 16, "256": 32}
_MATRICES = _by_opcode({("shared", "read"): "LDSM LDTRSM", ("shared", "write"): "STSM"})
"""Each thread names one row of 16 bytes of an 8 by 8 matrix."""


def parse(listing: str) -> Mapping[str, tuple[Instruction, ...]]:
    """What `nvdisasm -c -g` prints, by function. Only the innermost source line of an instruction is kept."""
    found: dict[str, list[Instruction]] = {}
    name, file, line = "", "", 0
    for text in listing.splitlines():
        if section := _SECTION.match(text):
            name, file, line = section.group(1), "", 0
        elif source := _SOURCE.match(text):
            if "inlined at" not in text or not file:
                file, line = source.group(1), int(source.group(2))
        elif name and (code := _CODE.match(text)):
            found.setdefault(name, []).append(Instruction(int(code.group(1), 16), code.group(2), file, line))
    return {name: tuple(instructions) for name, instructions in found.items()}


def family(text: str) -> str:
    """The opcode without predicate, modifiers and operands: `UTMALDG`. Registers and offsets change with every edit."""
    found = _OPCODE.match(text.strip())
    return found.group(1) if found else ""


def meaning(text: str) -> MemoryEffect:
    """Memory space, access and width, as far as the opcode tells."""
    found = _OPCODE.match(text.strip())
    if found is None:
        return MemoryEffect()
    name, modifiers = found.group(1), found.group(2).split(".")[1:]
    if name == "UBLKCP":  # UBLKCP.S.G: to shared from global; UBLKCP.G.S: the other way
        ends = [one for one in modifiers if one in ("S", "G")]
        return MemoryEffect("shared", "read" if ends[:1] == ["G"] else "write" if ends else "")
    if name in _BULK:
        return MemoryEffect(*_BULK[name])
    if name in _MATRICES:
        return MemoryEffect(*_MATRICES[name], 16)
    if name in _SIMPLE:
        return MemoryEffect(*_SIMPLE[name], next((_WIDTHS[one] for one in modifiers if one in _WIDTHS), 4))
    return MemoryEffect()


def opcodes(listing: str) -> Opcodes:
    """What is in the listing, of any tool."""
    code = (found.group(2) for found in map(_CODE.match, listing.splitlines()) if found)
    return frozenset((family(text), meaning(text).size) for text in code)


def disassemble(tool: Path, cubin: bytes) -> Mapping[str, tuple[Instruction, ...]]:
    """The cubin's functions; empty where the tool cannot read it (one of an older CUDA than the cubin's)."""
    return parse(listing(tool, cubin, "-g"))


def listing(tool: Path, cubin: bytes, *options: str) -> str:
    """What the tool prints of a cubin; nothing where it cannot read it. Without its analysis of the dataflow, which is
    no part of the listing, it takes 0.2 s instead of 0.3, nearly all of that to start. (CUDA 13.1)"""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        try:
            done = run_command([tool, "-c", "-ndf", *options, file.name], capture_output=True, timeout=SECONDS)
        except (OSError, subprocess.SubprocessError):
            return ""
    return done.stdout.decode(errors="replace") if done.returncode == 0 else ""


def find(python: str, environment: Mapping[str, str]) -> Path | None:
    """nvdisasm, or None."""
    return toolkit.find("nvdisasm", python, environment)

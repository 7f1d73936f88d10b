"""What ptxas says in a cubin of the registers, the local memory and the code of a kernel.

A cubin is an ELF file. Its section `.nv.info` is a list of attributes; two of them hold, for a symbol, one number.
"""

from __future__ import annotations

import struct
from typing import Dict, Iterator, Tuple

UNKNOWN = (32, 0)
"""Registers a thread and bytes of local memory where there is no machine code; programs divide by the first."""
_REGISTERS, _FRAME = 0x2F, 0x11  # EIATTR_REGCOUNT, EIATTR_FRAME_SIZE
_WITH_SIZE = 0x04  # the form of an attribute whose value follows its length


def resources(cubin: bytes, name: str) -> Tuple[int, int]:
    """Registers of each thread, and bytes of its local memory (where they spill, for one). `UNKNOWN` of what is no
    cubin."""
    try:
        sections = {name: cubin[start : start + length] for name, start, length in _sections(cubin)}
        symbol = _symbols(sections).index(name)
        told = {kind: number for kind, of, number in _numbers(sections[".nv.info"]) if of == symbol}
        return told[_REGISTERS], told.get(_FRAME, 0)
    except (KeyError, ValueError, IndexError, TypeError, struct.error):
        return UNKNOWN


def figures(cubin: bytes, name: str) -> Dict[str, int]:
    """The same by name (`registers`, `local`), with the bytes of its `code`, and of the `shared` memory that the cubin
    itself reserves. Empty of what is no cubin, or has no such kernel."""
    try:
        sizes = {section: length for section, _, length in _sections(cubin)}
        code = sizes[".text." + name]
    except (KeyError, ValueError, IndexError, struct.error):
        return {}
    registers, local = resources(cubin, name)
    return {"registers": registers, "local": local, "code": code, "shared": sizes.get(".nv.shared." + name, 0)}


def code(cubin: bytes) -> Dict[str, bytes]:
    """The machine code of each kernel and function, by the name of its section; empty of what is no cubin."""
    try:
        return {name: cubin[at : at + size] for name, at, size in _sections(cubin) if name.startswith(".text.")}
    except (ValueError, IndexError, struct.error):
        return {}


def _sections(elf: bytes) -> Iterator[Tuple[str, int, int]]:
    """Name, place and length."""
    if elf[:4] != b"\x7fELF":
        raise ValueError("no ELF file")
    (table,) = struct.unpack_from("<Q", elf, 0x28)
    size, count, names = struct.unpack_from("<HHH", elf, 0x3A)
    headers = [struct.unpack_from("<I20xQQ", elf, table + n * size) for n in range(count)]
    at = headers[names][1]
    for name, start, length in headers:
        yield elf[at + name : elf.index(b"\0", at + name)].decode(), start, length


def _symbols(sections: Dict[str, bytes]) -> "list[str]":
    table, names = sections[".symtab"], sections[".strtab"]
    starts = [struct.unpack_from("<I", table, at)[0] for at in range(0, len(table), 24)]
    return [names[start : names.index(b"\0", start)].decode() for start in starts]


def _numbers(info: bytes) -> Iterator[Tuple[int, int, int]]:
    """Attribute, symbol, value."""
    at = 0
    while at + 4 <= len(info):
        form, kind, size = struct.unpack_from("<BBH", info, at)
        at += 4
        if form == _WITH_SIZE:
            if size == 8:
                yield (kind, *struct.unpack_from("<II", info, at))
            at += size

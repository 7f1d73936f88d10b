"""What is known of the place of the fault beyond the card: the compiler's operation, and the instruction's operands.

NVIDIA documents PTX and not SASS. So an operand is explained by the PTX instruction that it was made of, by where its
registers were last written, and where its role in SASS is known from listings only, that is said.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from shrinkray_gpu.attachment.compiled_code import Code
from shrinkray_gpu.attachment.source_lines import source_lines
from shrinkray_gpu.attachment.tma_alignment import MisalignedCopy
from shrinkray_gpu.device import disassembly
from shrinkray_gpu.device.instruction import Instruction
from shrinkray_gpu.evidence.evidence import Evidence
from shrinkray_gpu.evidence.instruments.static_rules import STATIC
from shrinkray_gpu.runner.inside.static import tma
from shrinkray_gpu.runner.inside.static.tma import ALIGNMENT

_BY_FAMILY = {
    "UTMALDG": (r"async_tma_(?:copy_global_to_local|gather)", r"cp\.async\.bulk\.tensor\S*global"),
    "UTMASTG": (r"async_tma_(?:copy_local_to_global|scatter|store)", r"cp\.async\.bulk\.tensor\S*global\.shared"),
    "UTMAREDG": (r"async_tma_reduce", r"cp\.reduce\.async\.bulk\.tensor"),
    "UBLKCP": (r"async_(?:bulk|copy)", r"cp\.async\.bulk\."),
    "LDG": (r"tt\.load", r"ld\.global"),
    "STG": (r"tt\.store", r"st\.global"),
    "LDGSTS": (r"async_copy_global_to_local", r"cp\.async\."),
    "LDS": (r"local_load|convert_layout|tt\.reduce", r"ld\.shared"),
    "STS": (r"local_store|local_alloc|convert_layout", r"st\.shared"),
    "HGMMA": (r"warp_group_dot|tt\.dot", r"wgmma\.mma_async"),
    "ATOMG": (r"tt\.atomic", r"atom\."),
    "RED": (r"tt\.atomic", r"red\."),
}
"""The operation and the PTX that such an instruction is made of."""
REQUIRES = {
    "UTMALDG": f"the destination in shared memory must be a multiple of {ALIGNMENT} bytes, the mbarrier of 8 "
    "(PTX ISA, cp.async.bulk.tensor)",
    "UTMASTG": f"the source in shared memory must be a multiple of {ALIGNMENT} bytes (PTX ISA, cp.async.bulk.tensor)",
    "UTMAREDG": f"the source in shared memory must be a multiple of {ALIGNMENT} bytes "
    "(PTX ISA, cp.reduce.async.bulk.tensor)",
    "UBLKCP": "both addresses and the size must be multiples of 16 bytes (PTX ISA, cp.async.bulk)",
}
_ROLES = {
    "UTMALDG": (
        "destination in shared memory; the registers after it hold the mbarrier and the coordinates",
        "address of the tensor map (the descriptor)",
    ),
    "UTMASTG": ("source in shared memory; the registers after it hold the coordinates", "address of the tensor map"),
}
_RULE = re.compile(rf"the access \({STATIC} ([\w-]+)\): ")
_ALIGN = re.compile(r"\.extern \.shared (?:\.align (\d+) )?\.b8 (\w+)")
_DEFINES = re.compile(r"^(?:@!?U?P\w+\s+)?([A-Z][\w.]*)\s+(?:U?P[\dT]+,\s*)*(U?R\d+)(\.64)?\b")
_TARGETLESS = frozenset({"ST", "STG", "STS", "STL", "RED", "REDG", "BAR", "SYNCS", "UTMALDG", "UTMASTG", "BRA", "EXIT"})


@dataclass(frozen=True)
class Operand:
    """One operand of the instruction at fault."""

    text: str
    meaning: str
    known: str
    """What the meaning rests on."""
    written: tuple[Instruction, ...] = ()
    """The instructions before it that last wrote its first register, nearest first."""


@dataclass(frozen=True)
class FaultSite:
    """The place of the fault in each stage."""

    operations: tuple[str, ...] = ()
    """Lines of TTGIR."""
    ptx: tuple[str, ...] = ()
    operands: tuple[Operand, ...] = ()
    requires: str = ""
    copy: MisalignedCopy | None = None
    """What the static rule about such copies says of it."""
    aligned: int = 0
    """Alignment that shared memory is declared with; 0: not known."""
    symbol: str = ""


def site(seen: Evidence, code: Code, file: str) -> FaultSite:
    """What the code says at the place that the evidence names."""
    family = disassembly.family(seen.instruction)
    operation, ptx = _BY_FAMILY.get(family, ("", ""))
    line = seen.place.line if seen.place is not None else 0
    declared = _ALIGN.search(code.stages.get("ptx", ""))
    return FaultSite(
        operations=_matching(code, "ttgir", operation, line, file),
        ptx=_matching(code, "ptx", ptx, line, file),
        operands=tuple(_operands(seen, code.listing, family)),
        requires=REQUIRES.get(family) or _width(seen),
        copy=_misaligned(seen),
        aligned=int(declared.group(1) or 0) if declared else 0,
        symbol=declared.group(2) if declared else "",
    )


def _matching(code: Code, stage: str, pattern: str, line: int, file: str) -> tuple[str, ...]:
    """Lines of a stage of this kind, on this source line if any is."""
    if not pattern or stage not in code.stages:
        return ()
    texts = code.stages[stage].splitlines()
    found = [
        (text, at) for text, at in zip(texts, source_lines(stage, code.stages[stage], file)) if re.search(pattern, text)
    ]
    here = [text for text, at in found if at == line and line]
    chosen = here or ([text for text, _ in found] if len(found) == 1 else [])
    return tuple(dict.fromkeys(re.sub(r" loc\(#loc\d*\)", "", text).strip() for text in chosen))


def _width(seen: Evidence) -> str:
    size = disassembly.meaning(seen.instruction).size
    return f"the address must be a multiple of its width, {size} bytes" if size > 1 else ""


def _misaligned(seen: Evidence) -> MisalignedCopy | None:
    """By the static rule about such copies, where the evidence names it."""
    for told in seen.memory:
        found = _RULE.match(told)
        if found and found.group(1) == tma.RULE.name and (copy := MisalignedCopy.of(told[found.end() :])):
            return copy
    return None


def _operands(seen: Evidence, listing: Sequence[Instruction], family: str) -> list[Operand]:
    found = []
    texts = re.findall(r"(?:desc)?\[[^\]]*\](?:\[[^\]]*\])?", seen.instruction)
    if family in _ROLES:  # cuda-gdb prints the two without a comma between
        texts = re.findall(r"\[[^\]]*\]", seen.instruction)
    roles = _ROLES.get(family, ())
    space = disassembly.meaning(seen.instruction).space
    for at, text in enumerate(texts):
        register = re.search(r"\bU?R\d+\b", text)
        written = _written(listing, seen.offset, register.group()) if register else ()
        if at < len(roles):
            found.append(Operand(text, roles[at], "from listings; SASS is not documented", written))
        else:
            found.append(
                Operand(text, f"address in {space} memory" if space else "address", "from the opcode", written)
            )
    return found


def _written(listing: Sequence[Instruction], offset: int, register: str) -> tuple[Instruction, ...]:
    """The instruction that last wrote the register, in the order of the listing (a jump may come from elsewhere)."""
    before = [one for one in listing if one.offset < offset]
    for one in reversed(before):
        made = _DEFINES.match(one.text)
        if made is None or disassembly.family(one.text) in _TARGETLESS:
            continue
        name, number = re.match(r"(U?R)(\d+)", made.group(2)).groups()  # type: ignore[union-attr]
        wide = made.group(3) or ".WIDE" in made.group(1) or ".64" in made.group(1)
        if register in (made.group(2), f"{name}{int(number) + 1}" if wide else ""):
            return (one,)
    return ()

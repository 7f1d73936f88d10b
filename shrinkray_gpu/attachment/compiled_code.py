"""The compiled code of one program: each stage that the compiler made of its kernel, SASS with offsets, build log."""

from __future__ import annotations

import base64
import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from shrinkray_gpu.device import amdgcn, toolkit
from shrinkray_gpu.device.instruction import Instruction
from shrinkray_gpu.evidence import ptxas
from shrinkray_gpu.evidence.instruments.code import instructions
from shrinkray_gpu.runner.inside.launches.compilation import without_locations
from shrinkray_gpu.runner.run import Compilation, Run

STAGES = ("ttir", "ttgir", "llir", "ptx", "amdgcn")
_REGISTERS = re.compile(r"\b(U?R|U?P|SB|B)\d+\b")
_LABEL = re.compile(r"`\([^)]*\)|0x[0-9a-f]+")

SECONDS = 60.0
"""That ptxas may take."""


@dataclass(frozen=True)
class Code:
    """Empty where nothing was compiled, or by a compiler that failed."""

    kernel: str = ""
    stages: Mapping[str, str] = field(default_factory=dict)
    """`ttir`, `ttgir`, `llir`, `ptx` or `amdgcn`, as the compiler printed them."""
    cubin: bytes = b""
    listing: tuple[Instruction, ...] = ()

    @property
    def sass(self) -> str:
        """One instruction a line, with its offset and, where it changes, the source line."""
        rows, last = [], (0, "")
        for one in self.listing:
            where = (one.line, one.file)
            told = f"  // {Path(one.file).name}:{one.line}" if one.line and where != last else ""
            rows.append(f"/*{one.offset:04x}*/  {one.text} ;{told}")
            last = where
        return "\n".join(rows) + "\n" if rows else ""


def of_run(run: Run | None, kernel: str, tool: Path | None, hash: str = "") -> Code:
    """The kernel's code in a run that was asked for `instrument.WANTS`; where it is not there, the last kernel's."""
    compiled = [one for one in run.compiles if one.ir] if run is not None else []
    wanted = [one for one in compiled if one.hash == hash and hash] or [one for one in compiled if one.kernel == kernel]
    chosen = next(iter((*reversed(wanted), *reversed(compiled))), None)
    if chosen is None:
        return Code()
    stages = {stage: chosen.ir[stage] for stage in STAGES if stage in chosen.ir}
    cubin = base64.b64decode(chosen.ir.get("cubin", ""))
    return Code(chosen.kernel, stages, cubin, instructions(chosen, tool))


def difference(mine: Code, other: Code, names: tuple[str, str]) -> Mapping[str, str]:
    """Unified diffs by stage, of what the code says: without locations, register numbers and addresses, which all
    change when one instruction does."""
    both = [stage for stage in ("ttir", "ttgir") if stage in mine.stages and stage in other.stages]
    texts = {
        stage: tuple(without_locations(each.stages[stage]).splitlines() for each in (mine, other)) for stage in both
    }
    if mine.listing and other.listing:
        texts["sass"] = (_shape(mine.listing), _shape(other.listing))
    found = {}
    for stage, (a, b) in texts.items():
        lines = difflib.unified_diff(a, b, f"{names[0]}.{stage}", f"{names[1]}.{stage}", lineterm="")
        found[stage] = "\n".join(lines) + "\n"
    return found


def _shape(listing: Sequence[Instruction]) -> list[str]:
    return [_LABEL.sub("...", _REGISTERS.sub(r"\1", one.text)) for one in listing]


def build_log(run: Run | None, *, python: str, environment: Mapping[str, str]) -> str:
    """What was compiled with which options, what compilers said of it, and what assemblers tell of registers and
    memory."""
    parts = []
    for one in run.compiles if run is not None else ():
        parts.append(f"== {one.kernel}: {'failed' if one.failure else 'compiled'}")
        parts.append("options: " + ", ".join(f"{name}={value}" for name, value in sorted(one.options.items())))
        if one.printed.strip():
            parts.append(one.printed.rstrip())
        if one.failure is not None:
            parts.append((one.failure.traceback or f"{one.failure.type}: {one.failure.text}").rstrip())
        if told := _ptxas(one, python, environment) or amdgcn.resources(one.ir.get("amdgcn", "")):
            parts.append(told)
    return "\n".join(parts) + "\n" if parts else "nothing was compiled\n"


def _ptxas(compile: Compilation, python: str, environment: Mapping[str, str]) -> str:
    """`ptxas -v` on the PTX; empty where there is neither."""
    tool, ptx = toolkit.find("ptxas", python, environment), compile.ir.get("ptx", "")
    if tool is None or not ptx:
        return ""
    done = ptxas.assemble(tool, ptx, seconds=SECONDS)
    return f"$ {done.command}\n{done.said.strip()}"

"""The kernel's code, in what its compilations have left: IR, and SASS where a disassembler is here."""

from __future__ import annotations

import base64
from pathlib import Path

from shrinkray_gpu.device import amdgcn, disassembly, toolkit
from shrinkray_gpu.device.instruction import Instruction
from shrinkray_gpu.evidence.instruments.instrument import MISSING, PRESENT, Cost, Instrument, Statement, Subject
from shrinkray_gpu.runner.run import Compilation, Run

CODE = "IR and SASS"


def listings(subject: Subject, run: Run, kernel: str) -> tuple[dict[str, tuple[Instruction, ...]], Statement]:
    """SASS of each compilation of the kernel, by its hash."""
    compiled = [one for one in run.compiles if one.kernel == kernel and one.hash]
    tool = disassembly.find(subject.setup.python, subject.environment)
    found = {one.hash: instructions(one, tool) for one in compiled}
    stages = ", ".join(dict.fromkeys(stage for one in compiled for stage in one.ir if stage != "cubin"))
    if not compiled:
        return found, Statement(CODE, PRESENT, f"nobody saw {kernel} compiled")
    if told := amdgcn.resources(compiled[-1].ir.get("amdgcn", "")):
        return found, Statement(CODE, PRESENT, f"{stages} of {kernel}: {told}")
    if tool is None:
        return found, Statement(CODE, MISSING, f"{stages} of {kernel}, but no SASS: {toolkit.missing('nvdisasm')}")
    if not any(found.values()):
        return found, Statement(CODE, PRESENT, f"{stages} of {kernel}; {tool} cannot read its cubin")
    count = next(len(one) for one in reversed(found.values()) if one)
    return found, Statement(CODE, PRESENT, f"{stages} and {count} instructions of {kernel}")


def instructions(compile: Compilation, tool: Path | None) -> tuple[Instruction, ...]:
    """The kernel's SASS; empty where there is no cubin or nobody to read it."""
    cubin = compile.ir.get("cubin", "")
    if not cubin or tool is None:
        return ()
    return tuple(disassembly.disassemble(tool, base64.b64decode(cubin)).get(compile.kernel, ()))


INSTRUMENT = Instrument(CODE, Cost.CHECKPOINT, None)

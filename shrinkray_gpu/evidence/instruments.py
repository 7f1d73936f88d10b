"""The instruments, cheap to dear: each one a run of the same program, and what it has to say.

What is missing is named, with the way to get it. Core dump and sanitizer run the plain program, since that is what
the user has, and are two passes, since the sanitizer switches core dumps off.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from shrinkray_gpu.device import coredump, disassembly, error_table, gpus, sanitizer_records, toolkit
from shrinkray_gpu.device.dump import Dump
from shrinkray_gpu.device.instruction import Instruction
from shrinkray_gpu.device.record import Record
from shrinkray_gpu.oracle import speech
from shrinkray_gpu.oracle.driver_error import sticky_code
from shrinkray_gpu.runner import plain, sanitizer
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import COLD, Pool, Script
from shrinkray_gpu.runner.run import Compile, Run

RUN, STATIC, CODE, DUMP = "run", "static rule", "IR and SASS", "core dump"
QUICK = frozenset({STATIC, CODE, DUMP})
"""For checkpoints: on a GPU two runs, on the virtual one a single run."""
USUAL = QUICK | {"memcheck"}
INTERMITTENT = frozenset({"initcheck", "racecheck"})
ORDER = (RUN, STATIC, CODE, DUMP, *sanitizer_records.TOOLS)
WANTS = ("ttir", "ttgir", "llir", "ptx", "cubin", "lines")
PRESENT, MISSING, SKIPPED = "present", "missing", "not asked"
SLOWER = 4.0
"""How much longer than a plain run one under the sanitizer may take."""
_AT_WORK = {
    "device": ", and the GPU is still at work",
    "left": ", and it ends with the GPU still at work",
    "host": ", and the host is at work, the GPU is not",
}
NO_GPU = "needs the real GPU: run this where there is one, without --arch"


@dataclass(frozen=True)
class Said:
    """One instrument's word."""

    instrument: str
    state: str
    """`present`, `missing` (why, and how to get it), `not asked`."""
    text: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class Subject:
    """A program, and how it is run."""

    text: str
    script: Script
    setup: Setup
    seconds: float
    """That a plain run may take."""
    folder: Path
    """For caches and dumps of this examination alone."""
    extra: float = COLD
    """Seconds more, for imports."""

    @property
    def gpu(self) -> bool:
        return self.setup.arch is None and gpus.present()

    @property
    def environment(self) -> Mapping[str, str]:
        """Of the plain passes. They share a cache of kernels, so that all of them run the same cubin."""
        return {**self.setup.environment, "TRITON_CACHE_DIR": str(self.folder / "triton")}


def cold(subject: Subject, wants: tuple[str, ...]) -> tuple[Run, Said]:
    """The driver's code and the last launch: a cold run of ours, watched."""
    every = tuple(dict.fromkeys((*subject.script.wants, *wants)))
    run, seconds = _watched(subject, replace(subject.script, wants=every, sanitizer="", twins=()), subject.setup)
    code, who = sticky_code(run)
    last = run.launches[-1].kernel if run.launches else ""
    count = len(run.launches)
    launched = f"{count} launches, the last of {last}" if count > 1 else f"launch of {last}" if last else "no launch"
    said = f"{who} {error_table.by_code(code)}" if code else run.trouble or speech.ending(run)
    return run, Said(RUN, PRESENT, f"{said}{_AT_WORK.get(run.hanging, '')}; {launched}", seconds)


def static(subject: Subject, run: Run | None) -> tuple[Run | None, Said]:
    """The static rule: asked of the run itself on the virtual GPU, of a run there beside a real one (None)."""
    arch = subject.setup.arch or (gpus.capability() if subject.gpu else None)
    if arch is None:
        return None, Said(STATIC, MISSING, "needs to know the GPU: name one by --arch, such as sm_90")
    seconds = 0.0
    if run is None or subject.setup.arch is None:
        script = replace(subject.script, asserts=False, wants=WANTS, sanitizer="", twins=())
        run, seconds = _watched(subject, script, replace(subject.setup, arch=arch, warm=False, reuse=False))
    broken = next((launch for launch in run.launches if launch.fault), None)
    if broken is None:
        ended = f", and {speech.ending(run)} there" if subject.setup.arch is None and speech.failed(run) else ""
        return run, Said(STATIC, PRESENT, f"none of {len(run.launches)} launches breaks it{ended}", seconds)
    return run, Said(STATIC, PRESENT, broken.fault, seconds)


def dumped(subject: Subject) -> tuple[Dump | None, Said]:
    """A core dump of the GPU, read by cuda-gdb."""
    if not subject.gpu:
        return None, Said(DUMP, MISSING, NO_GPU)
    started = time.monotonic()
    core = subject.folder / "core"
    run = plain.run_text(
        subject.setup.python,
        subject.text,
        subject.script.path,
        subject.script.argv,
        environment={**subject.environment, **coredump.environment(core)},
        cwd=subject.script.cwd,
        scratch=subject.folder,
        seconds=subject.seconds + subject.extra,
        prefix=coredump.NO_HOST_DUMP,
    )
    tool = coredump.find(subject.setup.python, subject.environment)
    found = coredump.read(tool, core) if tool is not None and core.exists() else None
    seconds = time.monotonic() - started
    if not core.exists():
        return None, Said(DUMP, PRESENT, f"none was written in this run: {speech.ending(run)}", seconds)
    if tool is None:
        return None, Said(DUMP, MISSING, f"written, but not read: {toolkit.missing('cuda-gdb')}", seconds)
    if found is None:
        return None, Said(DUMP, PRESENT, "cuda-gdb tells nothing of a kernel in it", seconds)
    at = f" at {found.kernel}+{found.offset:#x} {found.instruction}" if found.precise else f" in {found.kernel}"
    where = f", {Path(found.file).name}:{found.line}" if found.file else ""
    return found, Said(
        DUMP, PRESENT, f"{found.exception}{at}{where}, thread {found.thread} of block {found.block}", seconds
    )


def sanitized(subject: Subject, tool: str) -> tuple[tuple[Record, ...], Said]:
    """The records of one of compute-sanitizer's tools."""
    if not subject.gpu:
        return (), Said(tool, MISSING, NO_GPU)
    if sanitizer_records.find(subject.setup.python, subject.environment) is None:
        return (), Said(tool, MISSING, toolkit.missing(sanitizer_records.NAME))
    run = sanitizer.run(
        subject.text,
        subject.script.path,
        subject.script.argv,
        tool=tool,
        python=subject.setup.python,
        environment=subject.environment,
        cwd=subject.script.cwd,
        scratch=subject.folder,
        seconds=SLOWER * subject.seconds + subject.extra,
    )
    if run.trouble:
        return (), Said(tool, MISSING, run.trouble, run.seconds)
    *texts, summary = run.records
    found = tuple(sanitizer_records.record(text, tool) for text in texts)
    first = next((one for one in found if one.kernel), None)
    if first is None:
        return found, Said(tool, PRESENT, f"nothing of a kernel ({summary})", run.seconds)
    where = f" in {Path(first.file).name}:{first.line}" if first.file else ""
    return found, Said(
        tool, PRESENT, f"{first.title} at {first.kernel}+{first.offset:#x}{where} ({summary})", run.seconds
    )


def instructions(compile: Compile, tool: Path | None) -> tuple[Instruction, ...]:
    """The kernel's SASS; empty where there is no cubin or nobody to read it."""
    cubin = compile.ir.get("cubin", "")
    if not cubin or tool is None:
        return ()
    return tuple(disassembly.disassemble(tool, base64.b64decode(cubin)).get(compile.kernel, ()))


def _watched(subject: Subject, script: Script, setup: Setup) -> tuple[Run, float]:
    started = time.monotonic()
    pool = Pool(script, setup, mode="cold", jobs=1, seconds=subject.seconds, extra=subject.extra)
    try:
        return pool.cold(subject.text), time.monotonic() - started
    finally:
        pool.close()

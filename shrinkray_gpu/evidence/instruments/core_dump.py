"""A core dump of the GPU, read by the vendor's debugger. The plain program is run, since that is what the user has."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from shrinkray_gpu.device import coredump, toolkit
from shrinkray_gpu.device.dump import Dump
from shrinkray_gpu.evidence.instruments.instrument import NO_GPU, Cost, Instrument, Observation, Subject
from shrinkray_gpu.evidence.sights import Sight
from shrinkray_gpu.oracle import speech
from shrinkray_gpu.runner import plain
from shrinkray_gpu.runner.knob_settings import KnobSetting
from shrinkray_gpu.runner.pool import Pool
from shrinkray_gpu.runner.run import Run

DUMP = "core dump"


def look(subject: Subject, run: Run | None) -> Observation:
    """A core dump of the GPU, read by the vendor's tool."""
    return _looked(subject, run, _plain)


def look_at_fork(subject: Subject, run: Run | None) -> Observation:
    """The same of a process that begins with torch and Triton imported, if there may be one: five seconds less. The
    driver writes the dump of it as of any other. A person is told of one of a plain process."""
    return _looked(subject, run, _forked)


def _plain(subject: Subject, environment: Mapping[str, str]) -> Run:
    fence = plain.fence(subject.setup.python, subject.fence, tempfile.gettempdir()) if subject.fence else ()
    return plain.run_text(
        subject.setup.python,
        subject.text,
        subject.script.path,
        subject.script.argv,
        environment={**subject.environment, **environment},
        cwd=subject.script.cwd,
        scratch=subject.folder,
        seconds=subject.seconds + subject.extra,
        prefix=(*fence, *coredump.NO_HOST_DUMP),
    )


def _forked(subject: Subject, environment: Mapping[str, str]) -> Run:
    script = replace(subject.script, twins=(), elsewhere=None, sanitizer="")
    pool = Pool(script, subject.setup, mode="cold", jobs=1, seconds=subject.seconds, extra=subject.extra).forking()
    with closing(pool):
        return pool.cold(subject.text, way=KnobSetting("with a core dump", environment=environment))


def _looked(subject: Subject, seen: Run | None, run: Callable[[Subject, Mapping[str, str]], Run]) -> Observation:
    if not subject.gpu:
        return Observation.missing(DUMP, NO_GPU)
    started = time.monotonic()
    core = subject.folder / "core"
    # What a program of gigabytes holds would take a minute to write, and is not read.
    ended = run(subject, coredump.environment(core, memory=seen is not None and seen.peak <= coredump.LARGE))
    tool = coredump.find(subject.setup.python, subject.environment)
    found = coredump.read(tool, core) if tool is not None and core.exists() else None
    seconds = time.monotonic() - started
    if not core.exists():
        without = f"; {toolkit.missing(coredump.TOOL)}" if tool is None else ""
        return Observation.present(DUMP, f"none was written in this run: {speech.ending(ended)}{without}", seconds)
    if tool is None:
        return Observation.missing(DUMP, f"written, but not read: {toolkit.missing(coredump.TOOL)}", seconds)
    if found is None:
        return Observation.present(DUMP, f"{coredump.READER} tells nothing of a kernel in it", seconds)
    at = f" at {found.kernel}+{found.offset:#x} {found.instruction}" if found.precise else f" in {found.kernel}"
    where = f", {Path(found.file).name}:{found.line}" if found.file else ""
    who = f", thread {found.thread} of block {found.block}" if found.thread else f", by {coredump.READER}"
    return observation(found, f"{found.exception}{at}{where}{who}", seconds)


def observation(dump: Dump, text: str = "", seconds: float = 0.0) -> Observation:
    """What a dump says of the fault; nothing where it was asked for, of a kernel that hangs."""
    precise = dump.precise  # of an assertion the threads stand somewhere behind it
    sight = Sight(
        dump.kernel, dump.offset if precise else -1, dump.instruction if precise else "", dump.file, dump.line
    )
    sights = (sight,) if dump.kernel and dump.exception else ()
    return Observation.present(DUMP, text, seconds, sights=sights, text=dump.text)


INSTRUMENT = Instrument(DUMP, Cost.CHECKPOINT, look)

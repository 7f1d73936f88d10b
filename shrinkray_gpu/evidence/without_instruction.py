"""Faults that no instruction is at: of a compiler, which may say where it was, or of the host alone."""

from __future__ import annotations

import re
from dataclasses import replace

from shrinkray_gpu.evidence import source_text
from shrinkray_gpu.evidence.evidence import Evidence, options_of
from shrinkray_gpu.evidence.instruments.instrument import Subject
from shrinkray_gpu.evidence.sights import Sight
from shrinkray_gpu.evidence.source_places import host_line, is_of_triton, place_of, text_at
from shrinkray_gpu.evidence.source_text import SourceLine
from shrinkray_gpu.oracle import speech
from shrinkray_gpu.oracle.fault import Fault, broken_compile
from shrinkray_gpu.runner.run import Run

LAST_LINES = 5
_DIAGNOSED = re.compile(r"^(\S+?\.py):(\d+):(\d+): (?:error|remark|note)", re.MULTILINE)
_FRONT_END = re.compile(r"\bat (\d+):(\d+):[ \t]*\n(?:def (\w+))?")
"""Counted from the `def` of the function that is being compiled, a helper or the kernel."""


def of_compilation(seen: Evidence, subject: Subject, run: Run, fault: Fault) -> Evidence:
    """A compiler that fails has no instruction; it may say which line it was at."""
    compile = broken_compile(run)
    if compile is None:
        return of_host(seen, subject, run)
    raw = "\n".join([*_causes(run), compile.printed, compile.failure.text if compile.failure else ""])
    place: SourceLine | None = None
    column = -1
    if found := _DIAGNOSED.search(raw):
        sight = Sight(compile.kernel, file=found.group(1), line=int(found.group(2)), column=int(found.group(3)))
        place = place_of(subject, sight, subject.script.path.name)
    for found in _FRONT_END.finditer(raw) if place is None else ():  # innermost first, maybe in Triton's own library
        file, start = _defined(subject, run, found.group(3) or compile.kernel)
        if start:
            column = int(found.group(2))
            sight = Sight(compile.kernel, file=file, line=start + int(found.group(1)) - 1)
            place = place_of(subject, sight, subject.script.path.name)
            break
    text = text_at(subject, place) if place is not None else ""
    construct = source_text.construct(text, place.line, column=column) if place is not None else ""
    return replace(
        seen,
        fault=replace(fault, construct=construct),
        kernel=compile.kernel,
        options=options_of(compile),
        place=place or host_line(subject, run),
        diagnostics=_complaints(run),
    )


def _defined(subject: Subject, run: Run, function: str) -> tuple[str, int]:
    """The file in which a function of a kernel is defined, and its line: the script, the kernel's own, else one through
    which the launch went; 0 where it is in none of these."""
    if start := source_text.first_line(subject.text, function):
        return subject.script.path.name, start
    traceback = run.failure.traceback if run.failure is not None else ""
    kernels = [compile.file for compile in reversed(run.compiles) if compile.file]
    for file in dict.fromkeys([*kernels, *(frame.file for frame in reversed(speech.frames(traceback)))]):
        text = text_at(subject, SourceLine(file, 0)) if not is_of_triton(file) else ""
        if start := source_text.first_line(text, function):
            return file, start
    return "", 0


def of_host(seen: Evidence, subject: Subject, run: Run) -> Evidence:
    died = run.failure is None and speech.has_failed(run)
    last = [line for line in (run.stdout + "\n" + run.stderr).splitlines() if line.strip()][-LAST_LINES:]
    return replace(seen, place=host_line(subject, run), diagnostics="\n".join(last) if died else "")


def _complaints(run: Run) -> str:
    """What the failing compiler said, in all places, each line once."""
    heard = [said.text for said in speech.failure_words(run) if said.place in ("exception", "compiler")]
    heard += [speech.without_quotations(cause) for cause in _causes(run)]
    return "\n".join(dict.fromkeys(line for text in heard for line in text.splitlines() if line.strip(" =")))


def _causes(run: Run) -> list[str]:
    """The causes of the exception, deepest first, quotations and all. Those of Triton's front end were never raised,
    and so have no traceback."""
    failure = speech.uncaught(run)
    return failure.traceback.split(speech.CAUSED)[:-1] if failure is not None else []

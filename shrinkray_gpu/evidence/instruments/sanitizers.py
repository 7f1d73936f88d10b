"""The tools of the vendor's sanitizer: a pass each, and none beside a core dump, which the sanitizer switches off."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from shrinkray_gpu.device import sanitizer_records, toolkit
from shrinkray_gpu.evidence.instruments.instrument import NO_GPU, Cost, Instrument, Observation, Subject
from shrinkray_gpu.runner import sanitizer
from shrinkray_gpu.runner.run import Run

MEMCHECK, SYNCCHECK = "memcheck", "synccheck"
SLOWER = 4.0
"""How much longer than a plain run one under the sanitizer may take."""
_COSTS = {MEMCHECK: Cost.PERSON, SYNCCHECK: Cost.REQUEST}


def look(tool: str, subject: Subject, run: Run | None) -> Observation:
    """The records of one of compute-sanitizer's tools."""
    if not subject.gpu:
        return Observation.missing(tool, NO_GPU)
    if sanitizer_records.find(subject.setup.python, subject.environment) is None:
        return Observation.missing(tool, toolkit.missing(sanitizer_records.NAME))
    ended = sanitizer.run(
        subject.text,
        subject.script.path,
        subject.script.argv,
        tool=tool,
        python=subject.setup.python,
        environment=subject.environment,
        cwd=subject.script.cwd,
        scratch=subject.folder,
        seconds=SLOWER * subject.seconds + subject.extra,
        fence=subject.fence,
        host=True,
    )
    if ended.trouble:
        return Observation.missing(tool, ended.trouble, ended.seconds)
    *texts, summary = ended.records
    found = tuple(sanitizer_records.record(text, tool) for text in texts)
    first = next((one for one in found if one.kernel), None)
    if first is None:
        return Observation.present(tool, f"nothing of a kernel ({summary})", ended.seconds, records=found)
    where = f" in {Path(first.file).name}:{first.line}" if first.file else ""
    told = f"{first.title} at {first.kernel}+{first.offset:#x}{where} ({summary})"
    return Observation.present(tool, told, ended.seconds, records=found)


INSTRUMENTS = tuple(
    Instrument(tool, _COSTS.get(tool, Cost.INTERMITTENT), partial(look, tool)) for tool in sanitizer_records.TOOLS
)

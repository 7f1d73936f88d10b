"""What a cold run and the instruments say together of one fault."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from shrinkray_gpu.device import disassembly
from shrinkray_gpu.device.instruction import Instruction, around
from shrinkray_gpu.device.record import Record, group_records
from shrinkray_gpu.evidence import source_text
from shrinkray_gpu.evidence.evidence import Evidence, RecordGroup, options_of
from shrinkray_gpu.evidence.instruments.code import listings as listings_of
from shrinkray_gpu.evidence.instruments.instrument import Observation, Subject
from shrinkray_gpu.evidence.sights import Sight, agrees, complete, of_record, telling
from shrinkray_gpu.evidence.source_places import place_of, text_at, whole_path
from shrinkray_gpu.evidence.without_instruction import of_compilation, of_host
from shrinkray_gpu.oracle import speech
from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.runner.run import Compilation, Launch, Run

AROUND = 3
"""Instructions shown on either side of the one at fault."""
LOADS = frozenset({"UTMALDG", "LDGSTS"})
"""Instructions that write to shared memory what the source calls a load."""
_DECLARED = re.compile(r"^.*\.extern \.shared\b.*$|^@global_smem = .*$", re.MULTILINE)


def assemble(subject: Subject, run: Run, observations: Sequence[Observation] = (), *, code: bool = True) -> Evidence:
    """What a cold run and the instruments say together. What is seen goes before what is predicted."""
    name, fault = subject.script.path.name, Fault.of(run)
    records = [record for one in observations for record in one.records]
    seen = Evidence(
        subject.script.name or str(subject.script.path),
        fault,
        speech.ending(run),
        findings=tuple(RecordGroup(*one) for one in group_records(records)),
        texts={one.said.instrument: one.text for one in observations if one.text},
        said=tuple(one.said for one in observations),
        run=run,
    )
    if fault is not None and fault.phase == "compile":
        return of_compilation(seen, subject, run, fault)
    sights = [sight for one in observations if not one.predicts for sight in one.sights]
    record = telling(records, sights, fault.code if fault is not None else 0)
    sights += of_record(record)
    believed = [one for one in observations if not one.predicts or _agrees(one, fault, sights)]
    sights += [sight for one in believed if one.predicts for sight in one.sights]
    kernel = sights[0].kernel if sights else fault.kernel or fault.near if fault is not None else ""
    if not kernel:
        return of_host(seen, subject, run)
    listings: Mapping[str, tuple[Instruction, ...]] = {}
    if code:
        listings, about = listings_of(subject, run, kernel)
        seen = replace(seen, said=(*seen.said, about))
    launch, compile = _which(run, kernel, sights, listings)
    sass = listings.get(compile.hash, ()) if compile is not None else ()
    sight = complete(sights, sass)
    text, alike = sight.instruction, 0
    if not text and sight.family and sight.line:
        same = [one for one in sass if disassembly.family(one.text) == sight.family and _at(one, sight)]
        alike = len(same)
        if same:
            sight, text = replace(sight, offset=same[0].offset), same[0].text
    place = place_of(subject, replace(sight, file=whole_path(sight.file, compile)), name)
    seen = replace(
        seen,
        kernel=kernel,
        launch=launch,
        parameters=source_text.parameters(text_at(subject, place), kernel),
        options=options_of(compile),
        place=place,
        instruction=text,
        offset=sight.offset,
        sass=around(sass, sight.offset, AROUND) if agrees(sass, sight, text) else (),
        alike=alike,
        memory=tuple(_memory(compile, believed, record)),
        ir={stage: compile.ir[stage] for stage in ("ttgir", "llir", "ptx") if stage in compile.ir} if compile else {},
    )
    return replace(seen, fault=_with_instruments(fault, seen, subject, record, certain=bool(sights)))


def _with_instruments(
    fault: Fault | None, seen: Evidence, subject: Subject, record: Record | None, *, certain: bool
) -> Fault | None:
    """The everyday fault with the fields that only instruments know."""
    if fault is None:
        return None
    does = disassembly.meaning(seen.instruction)
    access = (record.access if record else "") or does.access
    place, family = seen.place, disassembly.family(seen.instruction)
    asked = "read" if family in LOADS else access
    return replace(
        fault,
        kernel=seen.kernel if certain else fault.kernel,
        near="" if certain else fault.near,
        instruction=family,
        space=(record.space if record else "") or does.space,
        size=(record.size if record else 0) or does.size,
        access=access,
        construct=source_text.construct(text_at(subject, place), place.line, asked) if place and place.line else "",
    )


def _which(
    run: Run, kernel: str, sights: Sequence[Sight], listings: Mapping[str, tuple[Instruction, ...]]
) -> tuple[Launch | None, Compilation | None]:
    """The launch that faults, with its compilation: the one that a rule names, else the last one of that kernel whose
    code has the instruction seen."""
    launches = [launch for launch in run.launches if launch.kernel == kernel]
    named = [launch for launch in launches if launch.fault]
    seen = [sight for sight in sights if sight.instruction]
    fitting = [
        launch
        for launch in launches
        if any(agrees(listings.get(launch.hash, ()), sight, sight.instruction) for sight in seen)
    ]
    launch = next(iter((*named, *reversed(fitting), *reversed(launches))), None)
    compiled = [one for one in run.compiles if one.kernel == kernel]
    wanted = [one for one in compiled if launch is not None and one.hash == launch.hash]
    return launch, next(iter((*reversed(wanted), *reversed(compiled))), None)


def _at(one: Instruction, sight: Sight) -> bool:
    return one.line == sight.line and Path(one.file).name == Path(sight.file).name


def _memory(compile: Compilation | None, believed: Sequence[Observation], record: Record | None) -> Iterable[str]:
    if compile is not None:
        for stage in ("ptx", "llir"):
            if declared := _DECLARED.search(compile.ir.get(stage, "")):
                yield f"shared memory as declared ({stage.upper()}): {declared.group(0).strip()}"
                break
    for one in believed:
        yield from one.address
    for note in record.notes if record is not None else ():
        yield f"the address ({record.tool if record else ''}): {note}"


def _agrees(predicted: Observation, fault: Fault | None, sights: Sequence[Sight]) -> bool:
    """Whether a prediction is of the fault seen: it is no sight of another error or kernel."""
    right = fault is not None and fault.code == predicted.predicts
    return right and (not sights or sights[0].kernel == predicted.sights[0].kernel)

"""The card: what is known of a fault, for a person, on a screen or so."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

from shrinkray_gpu.device import disassembly, error_table
from shrinkray_gpu.evidence.evidence import Evidence
from shrinkray_gpu.evidence.instruments.instrument import SKIPPED
from shrinkray_gpu.oracle.cause_check import faulting_launch
from shrinkray_gpu.oracle.fault import PREDICTED

WIDTH = 118
LABEL = 13
FINDINGS = 4
DIAGNOSTICS = 6


CardRow = tuple[str, str]


def card(evidence: Evidence, more: Iterable[CardRow] = ()) -> str:
    """Labels on the left, facts on the right; what is not known has no line. `more` comes last."""
    lines, last = [], ""
    for label, text in (row for section in (*_sections(evidence), more) for row in section):
        lines.append(_row("" if label == last else label, text))
        last = label or last
    return "\n".join(lines)


def _sections(seen: Evidence) -> Iterator[list[CardRow]]:
    yield list(_fault(seen))
    yield list(_where(seen))
    yield list(_launch(seen))
    yield [("memory", text) for text in seen.memory]
    yield list(_records(seen))
    yield list(_instruments(seen))
    known = seen.versions
    if known:
        named = {"python": "Python", "torch": "torch", "triton": "Triton", "helion": "Helion", "driver": "driver"}
        words = [f"{word} {known[name]}" for name, word in named.items() if name in known]
        yield [("versions", ", ".join([*words, *([known["gpu"]] if "gpu" in known else [])]))]


def _fault(seen: Evidence) -> Iterator[CardRow]:
    fault = seen.fault
    if fault is None:
        broken = faulting_launch(seen.run) if seen.run is not None else None
        if broken is None:
            yield "fault", f"none: {seen.ending}"
            return
        yield "fault", f"{broken.causes[0].sentence}"
        yield "", "told by Triton's IR; a device reports no error for it"
        yield "ended", seen.ending
        yield "kernel", broken.kernel
        return
    if fault.code:
        error = error_table.by_code(fault.code)
        yield "fault", f"{error}, a {fault.phase} fault"
        if fault.predicted:  # what it ended in is made up, and nobody saw it
            yield "", PREDICTED
            return
    elif fault.phase == "compile" and seen.kernel:
        yield "fault", f"compile fault: {fault.klass}, kernel {seen.kernel}"
    else:
        yield "fault", f"{fault.phase} fault: {fault.klass}"
    if fault.text:
        yield "", fault.words
    yield "ended", seen.ending
    for line in [line for line in seen.diagnostics.splitlines() if line.strip()][:DIAGNOSTICS]:
        yield "said", line.strip()


def _where(seen: Evidence) -> Iterator[CardRow]:
    fault = seen.fault
    if fault is not None and fault.kernel and fault.phase != "compile":
        yield "kernel", fault.kernel
    elif seen.kernel and fault is not None and fault.phase != "compile":
        yield "kernel", f"not known for sure; the last one launched is {seen.kernel}"
    if seen.place is not None:
        yield "line", f"{seen.place}  {seen.place.text}"
    if fault is not None and fault.construct:
        yield "construct", fault.construct
    if seen.instruction:
        family = disassembly.family(seen.instruction)
        at = f" at {seen.kernel}+{seen.offset:#x}" if seen.offset >= 0 else ""
        told = f" (the first of {seen.alike} on this line)" if seen.alike > 1 else ""
        yield "instruction", f"{family}{at}{told}"
    if fault is not None and fault.space:
        size = f", {fault.size} bytes" if fault.size else ""
        access = f", {fault.access}" if fault.access else ""
        yield "access", f"{fault.space} memory{access}{size}"
    for one in seen.sass:
        mark = ">" if one.offset == seen.offset else " "
        yield "SASS", f"{mark} {one.offset:04x}  {one.text}" + (f"   // line {one.line}" if one.line else "")


def _launch(seen: Evidence) -> Iterator[CardRow]:
    launch = seen.launch
    if launch is None:
        return
    options = ", ".join(f"{name}={value}" for name, value in seen.options.items())
    yield "launch", f"grid {tuple(launch.grid)}" + (f", {options}" if options else "")
    named = len(seen.parameters) == len(launch.args)
    names = seen.parameters if named else [str(index) for index in range(len(launch.args))]
    wide = max((len(name) for name in names), default=0)
    simple: list[str] = []
    for name, text in zip(names, launch.args):
        if "[" in text:
            yield "arguments", f"{name:{wide}}  {text}"
        else:
            simple.append(f"{name} = {text.partition(' ')[2] or text}" if named else text)
    if simple:
        yield "arguments", ", ".join(simple)


def _records(seen: Evidence) -> Iterator[CardRow]:
    for finding in seen.findings[:FINDINGS]:
        record = finding.record
        at = f" at {record.kernel}+{record.offset:#x}" if record.kernel else ""
        where = f" in {Path(record.file).name}:{record.line}" if record.file else ""
        who = f", thread {record.thread} of block {record.block}" if record.thread else ""
        count = f" ({finding.count} of these)" if finding.count > 1 else ""
        yield record.tool, f"{record.title}{at}{where}{who}{count}"
    if len(seen.findings) > FINDINGS:
        yield "", f"and {len(seen.findings) - FINDINGS} other kinds (--json has all)"


def _instruments(seen: Evidence) -> Iterator[CardRow]:
    for one in seen.said:
        if one.state == SKIPPED:
            continue
        spent = f" ({one.seconds:.1f} s)" if one.seconds else ""
        yield "instruments", f"{one.instrument:12} {one.state}{spent}" + (f": {one.text}" if one.text else "")
    left: dict[str, list[str]] = {}
    for one in seen.said:
        if one.state == SKIPPED:
            left.setdefault(one.text, []).append(one.instrument)
    for why, names in left.items():
        yield "instruments", f"{SKIPPED}, {why}: {', '.join(names)}"


def _row(label: str, text: str) -> str:
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=f"{label:{LABEL}}",
        subsequent_indent=" " * (LABEL + 2),
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
        replace_whitespace=True,
    )

"""What several releases of ptxas make of one text: which fail, and of what they assemble, how good the code is."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from shrinkray_gpu.evidence.ptxas import PtxasRun, run_ptxas, usages, version
from shrinkray_gpu.evidence.text_tables import columns
from shrinkray_gpu.oracle.guarded_pattern import Pattern
from shrinkray_gpu.ptx.ptxas_fault import KILLED, PtxasFault, fault_in, says, was_killed
from shrinkray_gpu.runner.inside.launches.cubin import code

FAULTS, OTHER, PASSES, UNFIT, SILENT = "fails", "fails otherwise", "passes", "not asked", "no answer"
_KNOWN_VERSION = re.compile(r"Unsupported \.version ([\d.]+); current version is '([\d.]+)'")
_AT_LINE = re.compile(r", line \d+; *(?:error|fatal)")
"""How ptxas tells of PTX that it does not know; of what it cannot do it tells otherwise."""
_HEADER = re.compile(r"^([ \t]*\.version[ \t]+)[\d.]+", re.M)
GROWTH = 1.3
"""A ratio of two releases' figures that is told of."""


@dataclass(frozen=True)
class ReleaseRow:
    """One release."""

    release: str
    """Of the ptxas, as it tells itself: `12.8.93`."""
    outcome: str
    why: str = ""
    registers: int = 0
    """The most of any kernel; so are the others."""
    spills: int = 0
    """Bytes of spill stores and loads."""
    size: int = 0
    """Bytes of machine code."""
    digest: str = ""
    """Of the machine code alone, so that equal code has equal digests."""
    as_version: str = ""
    """The .version that the text was given, where the release does not know its own."""
    fault: PtxasFault | None = field(default=None, repr=False)

    def to_json(self) -> dict[str, Any]:
        row = {"ptxas": self.release, "outcome": self.outcome, "why": self.why, "as version": self.as_version}
        if self.outcome != PASSES:
            return row
        return {**row, "registers": self.registers, "spills": self.spills, "code": self.size, "digest": self.digest}

    def in_words(self) -> str:
        """One line without the release."""
        told = self.outcome if self.outcome == FAULTS or not self.why else f"{self.outcome}: {self.why}"
        if self.outcome == PASSES:
            told = f"passes ({self.registers} registers, {self.spills} bytes of spills, {self.size} of code)"
        return f"{told} with .version {self.as_version}" if self.as_version else told


def row(
    tool: Path,
    text: str,
    flags: Sequence[str],
    *,
    seconds: float,
    wanted: PtxasFault | None,
    words: Sequence[Pattern] = (),
) -> ReleaseRow:
    """What one ptxas makes of the text; `wanted` is the fault to compare with, without statements, and `words` are what
    it must say with that. A release that does
    not know the .version of the text is asked with its own, which changes what instructions it allows and no more.
    Raises UsageError where it cannot be started."""
    release, as_version = version(tool), ""

    def run(text: str) -> PtxasRun:
        return run_ptxas(tool, text, [*flags, "-v"], seconds=seconds)

    done = run(text)
    if (found := _KNOWN_VERSION.search(done.said)) and (wanted is None or ".version" not in str(wanted)):
        as_version = found[2]
        done = run(_HEADER.sub(rf"\g<1>{as_version}", text, count=1))
    if was_killed(done.status, done.said):
        return ReleaseRow(release, SILENT, KILLED, as_version=as_version)
    fault = fault_in(done.status, done.said, {}, like=wanted)
    if fault is None:
        return replace(_code(release, done), as_version=as_version)
    if wanted is not None and (fault.kind, fault.message) == (wanted.kind, wanted.message):
        said = says(done.said, words)
        outcome, told = (FAULTS, str(fault)) if said else (OTHER, f"{fault}, without the words of --oracle")
        return ReleaseRow(release, outcome, told, as_version=as_version, fault=fault)
    if fault.of_release or as_version and _AT_LINE.search(done.said):
        return ReleaseRow(release, UNFIT, f"it does not know this PTX: {fault}", as_version=as_version, fault=fault)
    return ReleaseRow(release, FAULTS if wanted is None else OTHER, str(fault), as_version=as_version, fault=fault)


def head_lines(
    tools: Iterable[Path],
    text: str,
    flags: Sequence[str],
    *,
    seconds: float,
    wanted: PtxasFault,
    words: Sequence[Pattern] = (),
) -> list[str]:
    """A line for each ptxas, for the head of a result."""
    rows = [row(tool, text, flags, seconds=seconds, wanted=wanted.anywhere, words=words) for tool in tools]
    return list(dict.fromkeys(f"ptxas {each.release}: {each.in_words()}" for each in rows))


def _code(release: str, done: PtxasRun) -> ReleaseRow:
    used = usages(done.said)
    sections = code(done.cubin)
    digest = hashlib.sha256()
    for name in sorted(sections):
        digest.update(f"{name}\0".encode() + sections[name])
    return ReleaseRow(
        release,
        PASSES,
        registers=max((each.registers for each in used), default=0),
        spills=max((each.spills for each in used), default=0),
        size=sum(map(len, sections.values())),
        digest=digest.hexdigest()[:12] if sections else "",
    )


def table(rows: Iterable[ReleaseRow]) -> str:
    """For people."""
    lines = [("ptxas", "outcome", "registers", "spills", "code", "digest", "")]
    for each in rows:
        figures = (str(each.registers), str(each.spills), str(each.size), each.digest)
        note = f"with .version {each.as_version}" if each.as_version else ""
        note = "; ".join(filter(None, (each.why if each.outcome != PASSES else "", note)))
        lines.append((each.release, each.outcome, *(figures if each.outcome == PASSES else ("-",) * 4), note))
    return "\n".join(columns(lines))


def difference(rows: Sequence[ReleaseRow]) -> str:
    """In one line, how the releases differ; empty where they do not, or by less than `GROWTH`."""
    asked = [each for each in rows if each.outcome not in (UNFIT, SILENT)]
    failing = [each.release for each in asked if each.outcome != PASSES]
    passing = [each for each in asked if each.outcome == PASSES]
    if failing and passing:
        return f"{', '.join(failing)} fail, and {', '.join(each.release for each in passing)} do not"
    for name in ("spills", "registers", "size"):
        low, high = (chosen(passing, key=lambda row: _figure(row, name), default=None) for chosen in (min, max))
        if low is None or high is None:
            return ""
        if _figure(high, name) >= GROWTH * max(_figure(low, name), _LEAST[name]):
            what = {"spills": "bytes of spills", "registers": "registers", "size": "bytes of code"}[name]
            return f"{high.release} takes {_figure(high, name)} {what}, and {low.release} {_figure(low, name)}"
    return ""


_LEAST: Mapping[str, int] = {"spills": 16, "registers": 16, "size": 512}
"""Below these figures a ratio says nothing."""


def _figure(row: ReleaseRow, name: str) -> int:
    figure: int = getattr(row, name)
    return figure

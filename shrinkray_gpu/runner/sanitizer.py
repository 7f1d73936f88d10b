"""compute-sanitizer: finds it, runs the plain program under one of its tools, and reads its records.

It disables core dumps, so that is another pass. It changes timing and memory layout, and an access that it stops ends
in another CUDA error than without it: the records are what is believed of such a run, not its exit code.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from shrinkray_gpu.device import toolkit
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.runner import plain
from shrinkray_gpu.runner.run import Run

NAME = "compute-sanitizer"
TOOLS = ("memcheck", "initcheck", "racecheck", "synccheck")
FOUND = 86
"""Its exit status when it has found something."""
MARK = "========="


@dataclass(frozen=True)
class Record:
    """One finding, of one thread."""

    tool: str
    title: str
    """`Invalid __global__ write of size 4 bytes`."""
    access: str = ""
    """`read`, `write`; empty where the record does not say."""
    size: int = 0
    space: str = ""
    """`global`, `shared`, `local`; empty where the record does not say, or says "shared or local"."""
    kernel: str = ""
    """Empty for what is found on the host: an API call that returns an error."""
    offset: int = -1
    """Of the instruction from the kernel's start, in bytes; -1: not told."""
    file: str = ""
    line: int = 0
    thread: str = ""
    block: str = ""
    notes: tuple[str, ...] = ()
    """What it says of the address: distance from the nearest allocation."""
    text: str = ""
    """The whole record, with the host's backtrace."""

    @property
    def kind(self) -> str:
        """The title without sizes, places and counts: what stays the same through a reduction."""
        kind = re.sub(r" of size [\d,]+(?: bytes)?", "", self.title)
        kind = re.sub(r" at (?:0x[0-9a-f]+|\S.*\+0x[0-9a-f]+).*", "", kind)
        return re.sub(r" on CUDA API call to .*|[\d,]{2,}(?= bytes)", "", kind).strip().rstrip(".:")

    @property
    def misaligned(self) -> bool:
        """Whether the address is not a multiple of what the access needs; else it is out of bounds."""
        return "misaligned" in self.device_text.casefold()

    @property
    def distance(self) -> int:
        """In bytes, from the nearest allocation; 0 inside of one, or where it is not told."""
        found = _DISTANCE.search(self.device_text)
        return int(found.group(1).replace(",", "")) if found else 0

    @property
    def device_text(self) -> str:
        """The record without the host's backtrace, which names Python's frames and the user's."""
        return self.text.partition("    Saved host backtrace")[0].rstrip()


_ACCESS = re.compile(r"\b(read|write|atomic|reduction)\b", re.IGNORECASE)
_SIZE = re.compile(r"\bof size ([\d,]+)")
_SPACE = re.compile(r"__(global|shared|local)__")
_PLACE = re.compile(r"\bat (\S.*?)\+0x([0-9a-f]+)(?: in (.+?):(\d+))?(?=\s|$)", re.MULTILINE)
_DISTANCE = re.compile(r"\bis ([\d,]+) bytes (?:after|before) the nearest allocation")
_WHO = re.compile(r"by thread (\([\d,]+\)) in block (\([\d,]+\))")
_SUMMARY = re.compile(r"^========= (?:\w+ )?SUMMARY: .*", re.MULTILINE)
_TOTAL = re.compile(r"SUMMARY: ([\d,]+) (?:errors?|hazards?)(?! were)")


def records(text: str, tool: str) -> tuple[Record, ...]:
    """The records in the output of a run. A record is a line at the margin with indented ones below it; banners,
    summaries and what the program prints itself are none."""
    found: list[Record] = []
    lines: list[str] = []
    for line in [*text.splitlines(), MARK]:
        if not line.startswith(MARK):
            continue  # the program's own, between the tool's
        rest = line[len(MARK) :]
        if rest.startswith("  ") and lines:
            lines.append(rest[1:])
            continue
        if len(lines) > 1:
            found.append(record("\n".join(lines), tool))
        lines = [rest.strip()] if rest.strip() else []
    return tuple(found)


def record(text: str, tool: str) -> Record:
    """One record's text, read."""
    title = text.partition("\n")[0]
    found = Record(tool, title, text=text)
    about = found.device_text
    access, size, space = _ACCESS.search(title), _SIZE.search(title), _SPACE.search(title)
    place, who = _PLACE.search(about), _WHO.search(about)
    notes = [line.strip() for line in about.splitlines()[1:]]
    word = access.group(1).lower() if access else ""
    found = replace(
        found,
        access={"atomic": "write", "reduction": "write"}.get(word, word),
        size=int(size.group(1).replace(",", "")) if size else 0,
        space=space.group(1) if space else "",
        thread=who.group(1) if who else "",
        block=who.group(2) if who else "",
        notes=tuple(line for line in notes if not line.startswith(("at ", "by thread ")) and "+0x" not in line),
    )
    if place is None:
        return found
    file, number = place.group(3) or "", int(place.group(4) or 0)
    return replace(found, kernel=place.group(1), offset=int(place.group(2), 16), file=file, line=number)


def total(text: str) -> int:
    """How many errors it counted, those included that it did not print."""
    found = _TOTAL.search(text)
    return int(found.group(1).replace(",", "")) if found else 0


def summary(text: str) -> str:
    """Its last line: `ERROR SUMMARY: 34 errors`; empty if it did not come that far."""
    found = _SUMMARY.search(text)
    return found.group(0)[len(MARK) + 1 :] if found else ""


def collapsed(found: Sequence[Record]) -> tuple[tuple[Record, int], ...]:
    """The first record of each kind and place, with how many there are: a faulting warp makes 32 of them."""
    kinds: dict[tuple[object, ...], list[Record]] = {}
    for one in found:
        key = (one.kind, one.kernel, one.offset if one.kernel else 0)
        kinds.setdefault(key, []).append(one)
    return tuple((same[0], len(same)) for same in kinds.values())


def program_output(text: str) -> str:
    """What the program itself printed."""
    return "".join(line for line in text.splitlines(True) if not line.startswith(MARK))


def find(python: str, environment: Mapping[str, str]) -> Path | None:
    """compute-sanitizer, or None."""
    return toolkit.find(NAME, python, environment)


def required(tool: str, python: str, environment: Mapping[str, str]) -> Path:
    """compute-sanitizer for a reduction that is about its records. Raises UsageError where there is none."""
    found = find(python, environment)
    if found is None:
        raise UsageError(f"--oracle sanitizer:{tool} needs compute-sanitizer: {toolkit.missing(NAME)}")
    return found


def run(
    text: str,
    path: Path,
    argv: Sequence[str],
    *,
    tool: str,
    python: str,
    environment: Mapping[str, str],
    cwd: Path,
    scratch: Path,
    seconds: float,
    writable: Sequence[str] | None = None,
) -> Run:
    """The program under one tool. `records` are its records and, last, its summary; `stdout` is the program's own.

    With `writable` the program may write only there (and in /tmp, where the sanitizer keeps its sockets).
    """
    found = find(python, environment)
    if found is None:
        return Run(mode="plain", exit=None, trouble=toolkit.missing(NAME))
    fence = plain.fence(python, (*writable, str(scratch), "/tmp")) if writable is not None else ()
    ran = plain.run_text(
        python,
        text,
        path,
        argv,
        environment=environment,
        cwd=cwd,
        scratch=scratch,
        seconds=seconds,
        prefix=(*fence, str(found), "--tool", tool, "--error-exitcode", str(FOUND)),
        kept=None,
    )
    said = ran.stdout
    if MARK not in said and not ran.timed_out:
        last = (said + ran.stderr).strip().splitlines()[-1:] or ["it said nothing"]
        return replace(ran, trouble=f"compute-sanitizer did not run: {last[0]}")
    texts = [one.text for one in records(said, tool)]
    ended = summary(said)
    # The program's own exit status is not told; where the tool has an error to report, it is replaced.
    failed = "Target application returned an error" in said
    status = ran.exit if ran.exit not in (0, FOUND) else int(failed)
    return replace(
        ran,
        exit=None if ran.exit is None else status,
        stdout=program_output(said)[-plain.KEPT :],
        records=(*texts, ended or "no summary: it did not come to its end"),
    )

"""What compute-sanitizer prints: its records, read. `runner/sanitizer.py` runs programs under it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from shrinkray_gpu.device.nvidia import toolkit
from shrinkray_gpu.device.record import Record

NAME = "compute-sanitizer"
TOOLS = ("memcheck", "initcheck", "racecheck", "synccheck")
FOUND = 86
"""Its exit status when it has found something."""
MARK = "========="


_ACCESS = re.compile(r"\b(read|write|atomic|reduction)\b", re.IGNORECASE)
_SIZE = re.compile(r"\bof size ([\d,]+)")
_SPACE = re.compile(r"__(global|shared|local)__")
_PLACE = re.compile(r"\bat (\S.*?)\+0x([0-9a-f]+)(?: in (.+?):(\d+))?(?=\s|$)", re.MULTILINE)
_DISTANCE = re.compile(r"\bis ([\d,]+) bytes (?:after|before) the nearest allocation")
_WHO = re.compile(r"by thread (\([\d,]+\)) in block (\([\d,]+\))")
_SUMMARY = re.compile(r"^========= (?:\w+ )?SUMMARY: .*", re.MULTILINE)


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


def whole_records(text: str, tool: str) -> tuple[Record, ...]:
    """The records of a run that goes on, as far as nothing more comes to them."""
    lines = text.splitlines(True)
    margins = [at for at, line in enumerate(lines) if re.match(rf"{MARK}(?!  ).*\n", line)]
    return records("".join(lines[: margins[-1]]), tool) if margins else ()


def record(text: str, tool: str) -> Record:
    """One record's text, read."""
    title = text.partition("\n")[0]
    about = text.partition("    Saved host backtrace")[0].rstrip()  # which names Python's frames and the user's
    access, size, space = _ACCESS.search(title), _SIZE.search(title), _SPACE.search(title)
    place, who, distance = _PLACE.search(about), _WHO.search(about), _DISTANCE.search(about)
    notes = [line.strip() for line in about.splitlines()[1:]]
    word = access.group(1).lower() if access else ""
    found = Record(
        tool,
        title,
        _kind(title),
        text=text,
        device_text=about,
        misaligned="misaligned" in about.casefold(),
        distance=_number(distance.group(1)) if distance else 0,
        access={"atomic": "write", "reduction": "write"}.get(word, word),
        size=_number(size.group(1)) if size else 0,
        space=space.group(1) if space else "",
        thread=who.group(1) if who else "",
        block=who.group(2) if who else "",
        notes=tuple(line for line in notes if not line.startswith(("at ", "by thread ")) and "+0x" not in line),
    )
    if place is None:
        return found
    file, number = place.group(3) or "", int(place.group(4) or 0)
    return replace(found, kernel=place.group(1), offset=int(place.group(2), 16), file=file, line=number)


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def _kind(title: str) -> str:
    """The title without sizes, places and counts."""
    kind = re.sub(r" of size [\d,]+(?: bytes)?", "", title)
    kind = re.sub(r" at (?:0x[0-9a-f]+|\S.*\+0x[0-9a-f]+).*", "", kind)
    return re.sub(r" on CUDA API call to .*|[\d,]{2,}(?= bytes)", "", kind).strip().rstrip(".:")


def kernels(texts: Iterable[str]) -> tuple[str, ...]:
    """The kernels that records name, by their texts, in the order of the first ones."""
    found = (place.group(1) for text in texts if (place := _PLACE.search(text.partition("    Saved host")[0])))
    return tuple(dict.fromkeys(found))


def summary(text: str) -> str:
    """Its last line: `ERROR SUMMARY: 34 errors`; empty if it did not come that far."""
    found = _SUMMARY.search(text)
    return found.group(0)[len(MARK) + 1 :] if found else ""


def program_output(text: str) -> str:
    """What the program itself printed."""
    return "".join(line for line in text.splitlines(True) if not line.startswith(MARK))


def find(python: str, environment: Mapping[str, str]) -> Path | None:
    """compute-sanitizer, or None."""
    return toolkit.find(NAME, python, environment)


def prefix(executable: Path, tool: str, *, host: bool = False) -> tuple[str, ...]:
    """Of a command, to run it under one of the tools.

    With `host` records have the frames of the host, too. For a process that has loaded torch these cost: one that ends
    after a fault makes many failing calls, and took 57 s and 33 GB of memory on an H200.
    """
    frames = () if host else ("--show-backtrace", "device")
    return (str(executable), "--tool", tool, "--error-exitcode", str(FOUND), *frames)


def ran(text: str) -> bool:
    """Whether the sanitizer said anything."""
    return MARK in text


def status(text: str, exit: int | None) -> int | None:
    """The program's own exit status, as far as the output tells: with something found it is replaced."""
    if exit not in (0, FOUND):
        return exit
    return int("Target application returned an error" in text)

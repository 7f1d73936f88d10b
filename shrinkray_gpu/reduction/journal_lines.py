"""Lines of the journal: each one a JSON object that ends with its own checksum, and what stands in it of a verdict."""

from __future__ import annotations

import dataclasses
import fcntl
import json
import os
import re
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import IO, Any

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.oracle.verdict import Answer, Verdict
from shrinkray_gpu.runner.plain_file import open_plain

_SEALED = re.compile(rb'(\{.*),"crc":"([0-9a-f]{8})"\}')
_KINDS: Mapping[str, tuple[type, ...]] = {
    "settings": (dict,),
    "seed": (int,),
    "width": (int,),
    "ran": (dict,),
    "question": (dict,),
    "release": (str,),
    "key": (str,),
    "why": (str,),
    "text": (str, NoneType),
    "texts": (list,),
    "size": (list,),
    "at": (int, float),
    "values": (dict,),
    "variant": (dict,),
    "told": (str,),
}
"""Of values that are taken as they stand, in whatever line."""
UNFIT = (KeyError, TypeError, ValueError, AttributeError)
"""What the taking of a line raises whose checksum is right, though no version of the tool wrote it that we know."""


def locked_log(path: Path, *, elsewhere: str, busy: str, private: bool = True) -> IO[bytes]:
    """The log at `path`, open to add to, and locked until it is closed. Its folder is made. `private`: nobody else may
    read it.

    Raises UsageError: where it cannot be written, with `elsewhere` as what to do; `busy` where another process has it.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        rights = 0o600 if private else 0o666
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW  # behind a link may be a file of the user's
        log = open(open_plain(path, flags, rights), "ab+", buffering=0)  # noqa: SIM115
        if private:
            os.fchmod(log.fileno(), rights)  # of an earlier version
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}. {elsewhere}") from error
    try:
        fcntl.flock(log, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        log.close()
        raise UsageError(busy) from error
    return log


def line_of(event: str, key: str, verdict: Verdict) -> dict[str, Any]:
    """The line that says of the candidate with this key what the verdict says."""
    line: dict[str, Any] = {"event": event, "key": key, "answer": verdict.answer.value, "why": verdict.why}
    if verdict.provisional:
        line["provisional"] = True
    if verdict.certain:
        line["certain"] = True
    if verdict.credit:
        line["credit"] = True
    if verdict.other is not None:
        line["other"] = dataclasses.asdict(verdict.other)
    return line


def verdict_of(line: Mapping[str, Any]) -> Verdict:
    """The verdict that a line tells of."""
    return Verdict(
        Answer(line["answer"]),
        line.get("why", ""),
        provisional=line.get("provisional", False),
        other=Fault.from_json(line["other"]) if line.get("other") else None,
        credit=line.get("credit", False),
        certain=line.get("certain", False),
    )


def sealed(line: Mapping[str, Any]) -> bytes:
    """The line as it is written: its last key is the CRC-32 of all that stands before."""
    body = json.dumps(line, separators=(",", ":")).encode("ascii")[:-1]
    return b'%s,"crc":"%08x"}\n' % (body, zlib.crc32(body))


def write_line(log: IO[bytes], line: Mapping[str, Any]) -> None:
    """Append all of the line, sealed, to an unbuffered file, or nothing of it: a disk with little room takes a part,
    and has no room for the rest. Raises OSError."""
    whole = sealed(line)
    left = memoryview(whole)
    try:
        while left:
            left = left[log.write(left) :]
    except OSError:
        with suppress(OSError):
            log.truncate(os.fstat(log.fileno()).st_size - (len(whole) - len(left)))
        raise


def unsealed(text: bytes) -> dict[str, Any] | None:
    """What a line says, without its end of line; None where it is not as it was written, or as we write it."""
    found = _SEALED.fullmatch(text)
    if found is None or zlib.crc32(found[1]) != int(found[2], 16):
        return None
    try:
        line: dict[str, Any] = json.loads(found[1] + b"}")
    except (ValueError, RecursionError):
        return None
    return line if all(isinstance(line[name], _KINDS[name]) for name in _KINDS.keys() & line) else None


def take_lines(lines: Iterable[Mapping[str, Any]], take: Callable[[Mapping[str, Any]], None]) -> int:
    """Have each line taken. Returns how many could not be."""
    damaged = 0
    for line in lines:
        try:
            take(line)
        except UNFIT:
            damaged += 1
    return damaged


def all_are(values: Sequence[Any], *kinds: type) -> tuple[Any, ...]:
    """The values. Raises TypeError where one is of no such kind."""
    for each in values:
        if not isinstance(each, kinds):
            raise TypeError(f"{each!r} in a list of {kinds[0].__name__}")
    return tuple(values)


@dataclass(frozen=True)
class EarlierJournal:
    """What an earlier run of the tool left in a journal."""

    header: Mapping[str, Any]
    """Empty where the first line is damaged."""
    events: tuple[Mapping[str, Any], ...]
    damaged: int
    """How many lines are not as they were written, or as we write them."""
    ended: bool

    @property
    def is_unfinished(self) -> bool:
        """Whether a search began and did not end. (The original did not show its fault, or the tool ended before the
        search: then there is nothing to lose.)"""
        begun = any(line.get("event", "lifting") not in ("lifting", "perturbed") for line in self.events)
        return not self.ended and (begun or self.damaged > 0)


def whole_lines(log: IO[bytes]) -> list[bytes]:
    """All lines. What a kill left of the last one is cut off, so that the next line starts on its own."""
    log.seek(0)
    data = log.read()
    *whole, torn = data.split(b"\n")
    if torn:
        log.truncate(len(data) - len(torn))
    return whole


def read_journal(log: IO[bytes]) -> EarlierJournal | None:
    """None where there is not one whole line."""
    whole = whole_lines(log)
    if not whole:
        return None
    lines = [unsealed(text) for text in whole]
    header = lines[0] or {}
    return EarlierJournal(
        header if "settings" in header else {},
        _without_last_doubts([line for line in lines[1:] if line is not None]),
        lines.count(None),
        any(text.startswith(b'{"event":"end"') for text in whole[1:]),
    )


def _without_last_doubts(events: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    """The events without the unknown answers at their end. What ended the reduction (a full disk, a GPU that is lost)
    may be the reason for them: they are asked anew."""
    kept = len(events)
    while kept and events[kept - 1].get("answer") == Answer.UNKNOWN.value:
        kept -= 1
    return tuple(events[:kept])


def check_whole(earlier: EarlierJournal, folder: Path) -> None:
    """Raises UsageError where nobody can go on with this journal, whatever is asked for now."""
    if not earlier.header:
        raise UsageError(
            f"Cannot resume {folder}: the first line of its journal, which says what is reduced, is damaged. "
            f"{folder / 'best.py'} has the best so far and stays: reduce that file on, or use --restart to begin anew."
        )


def check_same(old: Mapping[str, Any], new: Mapping[str, Any], folder: Path) -> None:
    """Raises UsageError where what the headers say of the original and the settings is not the same."""
    changed = []
    if old.get("format") != new["format"]:
        changed.append("the journal's format")
    if old.get("original") != new["original"]:
        changed.append("the script (or a module that it imports)")
    before, now = old["settings"], new["settings"]
    for name in sorted({*before, *now}):
        if before.get(name) != now.get(name):
            changed.append(f"{name} ({_say(before.get(name))} then, {_say(now.get(name))} now)")
    if changed:
        raise UsageError(
            f"Cannot resume {folder}: {', '.join(changed)} changed since. Put it back, or use --restart to begin anew."
        )


def _say(value: Any) -> str:
    return "not given" if value is None else json.dumps(value, ensure_ascii=False)

"""Unified diffs, as git and diff write them: read strictly, applied exactly, and a good word for what does not fit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePath

from shrinkray_gpu.errors import UsageError

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


@dataclass(frozen=True)
class Hunk:
    head: str
    start: int
    """First line concerned in the old text, from 0."""
    old: tuple[str, ...]
    new: tuple[str, ...]


def is_diff(text: str) -> bool:
    return any(_HUNK.match(line) for line in text.split("\n"))


def hunks(diff: str, file: str) -> tuple[Hunk, ...]:
    """The hunks of a diff of one file. `file` is the diff's own name, for complaints. Raises UsageError."""
    lines = diff.replace("\r\n", "\n").removesuffix("\n").split("\n")
    found: list[Hunk] = []
    targets: list[str] = []
    at = 0
    while at < len(lines):
        head = _HUNK.match(lines[at])
        if lines[at].startswith("--- ") and lines[at + 1 : at + 2] and lines[at + 1].startswith("+++ "):
            targets.append(lines[at + 1][4:].split("\t")[0].strip())
            at += 1
        at += 1
        if head is None:
            continue
        begin, (start, removed, _, added) = head.group(), (int(n) if n else 1 for n in head.groups())
        old: list[str] = []
        new: list[str] = []
        while len(old) < removed or len(new) < added:
            line = lines[at] if at < len(lines) else "end of the file"
            sign, content = line[:1] or " ", line[1:]  # an editor took the blank of an empty line
            if sign not in " +-\\" or at >= len(lines):
                raise UsageError(
                    f"{file}, line {at + 1}: hunk {begin} announces {removed} old and {added} new lines, and after "
                    f"{len(old)} and {len(new)} comes {line[:60]!r}: make the diff anew, with git diff or diff -u"
                )
            if sign in " -":
                old.append(content)
            if sign in " +":
                new.append(content)
            at += 1
        found.append(Hunk(begin, start - 1 if removed else start, tuple(old), tuple(new)))
    if len(set(targets)) > 1:
        names = ", ".join(PurePath(target).name for target in targets)
        raise UsageError(
            f"{file} changes several files ({names}), and a control changes the script alone: leave out the rest"
        )
    return tuple(found)


def apply_hunks(text: str, changes: tuple[Hunk, ...], file: str, script: str) -> str:
    """The text with the changes: each where it says, or, as lines shift, where its old lines are and nowhere else."""
    lines = text.removesuffix("\n").split("\n")
    result: list[str] = []
    done = 0
    for number, hunk in enumerate(changes, 1):
        at = hunk.start
        if at < done or tuple(lines[at : at + len(hunk.old)]) != hunk.old:
            size = len(hunk.old)
            places = [x for x in range(done, len(lines)) if size and tuple(lines[x : x + size]) == hunk.old]
            if len(places) != 1:
                raise UsageError(
                    f"hunk {number} of {file} ({hunk.head}) does not apply to {script}: "
                    f"{_misfit(lines, hunk, len(places))}. Make the diff against {script} as it is now"
                )
            (at,) = places
        result += [*lines[done:at], *hunk.new]
        done = at + len(hunk.old)
    return "\n".join([*result, *lines[done:]]) + "\n"


def _misfit(lines: list[str], hunk: Hunk, places: int) -> str:
    if places > 1:
        return f"not at its line, and at {places} other places"
    for offset, wanted in enumerate(hunk.old):
        number = hunk.start + offset
        seen = lines[number] if 0 <= number < len(lines) else None
        if seen is None:
            return f"it expects {wanted.strip()!r} on line {number + 1}, after the end"
        if seen != wanted:
            spacing = " (the spacing differs)" if seen.split() == wanted.split() else ""
            return f"line {number + 1} is {seen.strip()[:60]!r}, it expects {wanted.strip()[:60]!r}{spacing}"
    return "it overlaps the hunk before it"

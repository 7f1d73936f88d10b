"""A trap: a failing program whose first lines say how to reduce it, and into which wrong result it lures a reducer.

# shrink WORDS...         the command, less the file
# lure: SENTENCE          the wrong result that a naive reducer ends in
# must: REGEX             the repro's text has this (repeatable)
# must not: REGEX         and not that (repeatable)
# ends: STATUS REGEX      `python REPRO` ends with this status, or signal, and its stderr matches
# then: CODE              ... with this line at the repro's end (a wait for the device)
# check: SPEC             `shrink REPRO --check --oracle SPEC`, sharper than the trap's own oracle, says yes
# cured by: REGEX => NEW  with this replacement in the repro's text that ending is gone (repeatable: one of them does)
# fault: REGEX            the tool names the fault so, as its evidence (nothing for oracles that bind none)
# naive: KIND WORDS       the guardless test under which the trap snaps; see naive.py
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

_HEADER = re.compile(r"^# (shrink|lure:|must:|must not:|ends:|then:|check:|cured by:|fault:|naive:) ?(.*)$")


@dataclass(frozen=True)
class Trap:
    path: Path
    words: tuple[str, ...]
    """Of the command, less the file."""
    lure: str
    must: tuple[str, ...]
    must_not: tuple[str, ...]
    ends: str
    then: str
    check: str
    cures: tuple[tuple[str, str], ...]
    """What to replace, and by what."""
    fault: str
    naive: str

    @property
    def arch(self) -> tuple[str, ...]:
        """The words that choose the virtual GPU, if any."""
        at = self.words.index("--arch") if "--arch" in self.words else len(self.words)
        return self.words[at : at + 2]

    @property
    def skipped(self) -> frozenset[str]:
        """The passes that are left out."""
        return frozenset(name for word, name in zip(self.words, self.words[1:]) if word == "--skip-pass")

    @property
    def program(self) -> str:
        """Without its header, whose words are bait of their own."""
        lines = self.path.read_text().splitlines(keepends=True)
        return "".join(line for line in lines if not _HEADER.match(line))


def read(path: Path) -> Trap:
    """The trap in this file. Raises ValueError where the header lacks something."""
    said: dict[str, list[str]] = {}
    for line in path.read_text().splitlines():
        if found := _HEADER.match(line):
            said.setdefault(found[1].rstrip(":"), []).append(found[2])
    lacking = [word for word in ("shrink", "lure") if not any(said.get(word, ()))]
    if lacking or not (said.keys() & {"ends", "check", "cured by"}):
        raise ValueError(f"{path.name} does not say {lacking or 'how the true fault is told'}")

    def one(key: str) -> str:
        return said.get(key, [""])[0]

    return Trap(
        path,
        words=tuple(shlex.split(one("shrink"))),
        lure=one("lure"),
        must=tuple(said.get("must", ())),
        must_not=tuple(said.get("must not", ())),
        ends=one("ends"),
        then=one("then"),
        check=one("check"),
        cures=tuple((regex, new) for regex, _, new in (cure.partition(" => ") for cure in said.get("cured by", ()))),
        fault=one("fault"),
        naive=one("naive"),
    )


def traps(folder: Path) -> list[Trap]:
    return [read(path) for path in sorted(folder.glob("*.py"))]

"""What a reduction reports on its way, for programs that listen: `shrink --json`, and `reduce(..., on_event=...)`.

docs/events.md has a table of them, made of this file by `python -m tests.events`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from threading import RLock
from typing import Any, ClassVar, Literal

SCHEMA = 1
"""Of the JSON. It grows by one when a field goes or changes its meaning, and stays when one is added."""
EVERY = 5.0
"""Seconds between two lines that tell how far something is."""
PhaseName = Literal["run", "calibrate", "search", "verify", "verdict", "report"]


@dataclass(frozen=True)
class Event:
    """Something that happened."""

    name: ClassVar[str]

    def to_json(self) -> dict[str, Any]:
        """One object: `schema`, `event`, and the fields."""
        return {"schema": SCHEMA, "event": self.name, **asdict(self)}


@dataclass(frozen=True)
class Started(Event):
    """The options and the program are valid. Only a `message` may come before it."""

    name = "started"
    version: str
    """Of shrinkray_gpu."""
    program: str
    """The file, or the command in its place."""
    output: str
    """Where the repro will be; empty for a check."""
    folder: str
    """Where all else is; empty for a check."""
    lines: int
    """Non-blank lines of the program."""
    tokens: int
    """Tokens of the program."""


@dataclass(frozen=True)
class Phase(Event):
    """A phase begins. `run` also lifts the launch that faults."""

    name = "phase"
    phase: PhaseName
    """`run`, `calibrate`, `search`, `verify`, `verdict` or `report`, in this order; some are left out."""


@dataclass(frozen=True)
class Message(Event):
    """A line for a person. Its words may change in any release."""

    name = "message"
    text: str
    """The line."""


@dataclass(frozen=True)
class Lifted(Event):
    """What the search begins with is known."""

    name = "lifted"
    lifted: bool
    """Whether a script of the launch that faults takes the place of the program."""
    text: str
    """How, or why not; empty if that was no question."""
    lines: int
    """Non-blank lines of what the search begins with."""
    tokens: int
    """Its tokens."""


@dataclass(frozen=True)
class Reproduced(Event):
    """The original shows the fault."""

    name = "reproduced"
    spec: str
    """What must persist, as a SPEC."""
    shown: int
    """How many of `runs` showed it."""
    runs: int
    """How often the original was run to tell."""
    mode: str
    """In which mode candidates run: `virtual`, `warm`, `fork` or `cold`."""


@dataclass(frozen=True)
class Best(Event):
    """There is another best program so far."""

    name = "best"
    path: str
    """The file that has it, or will in a moment: it is written aside. The file is whole at every moment."""
    lines: int
    """Its non-blank lines."""
    tokens: int
    """Its tokens."""
    by: str
    """The pass that made it."""
    tries: int
    """Candidates that were tested so far."""
    taken_back: bool
    """Whether a check refuted a smaller one, which this one replaces."""


@dataclass(frozen=True)
class SearchProgress(Event):
    """The search goes on. It comes once a second at most."""

    name = "progress"
    lines: int
    """Non-blank lines of the best program so far."""
    tokens: int
    """Its tokens."""
    round: int
    """All passes make a round; the search ends after one that finds nothing."""
    by: str
    """The pass at work."""
    tries: Mapping[str, int]
    """Runs by kind."""


@dataclass(frozen=True)
class Verified(Event):
    """The clean runs at the end are over."""

    name = "verified"
    output: str
    """The repro."""
    shown: int
    """How many of `runs` showed the fault."""
    runs: int
    """How many clean runs there were."""
    stands: bool
    """Whether the repro counts as verified. An `error` follows where it does not."""


@dataclass(frozen=True)
class Checked(Event):
    """The program shows the fault: how `shrink check --json` ends well."""

    name = "checked"
    program: str
    """The file, or the command in its place."""
    spec: str
    """The fault that it shows, as a SPEC."""


@dataclass(frozen=True)
class Replayed(Event):
    """A case of a corpus was replayed."""

    name = "replayed"
    case: str
    """Its name."""
    outcome: str
    """What it does now."""
    why: str
    """Why, or what it lacks; may be empty."""
    seconds: float
    """How long it took."""


@dataclass(frozen=True)
class Finished(Event):
    """The reduction is over. It comes last."""

    name = "result"
    result: Mapping[str, Any]
    """Its fields stand beside `schema` and `event`, not below `result`. [files.md](files.md#resultjson) lists them."""

    def to_json(self) -> dict[str, Any]:
        return {"schema": SCHEMA, "event": self.name, **self.result}


@dataclass(frozen=True)
class Failed(Event):
    """The command failed. It comes last. Python code gets the exception instead."""

    name = "error"
    kind: str
    """The exception of `shrinkray_gpu.errors`, such as `UsageError` or `NotReproduced`."""
    text: str
    """What happened, why, and what to do next."""
    exit_code: int
    """As [exit_codes.md](exit_codes.md) lists them."""


Hear = Callable[[Event], None]


def printed_result(printed: str) -> dict[str, Any]:
    """The result of a reduction, of all that `shrink --json` printed; empty where it ended without one."""
    last = next(reversed(printed.splitlines()), "{}")
    try:
        told = json.loads(last)
    except ValueError:  # killed while it wrote
        return {}
    return told if isinstance(told, dict) and told.get("event") == Finished.name else {}


def nobody(event: Event) -> None:
    """Hears of an event, and does nothing."""


def one_at_a_time(hear: Hear | None) -> Hear:
    """The listener, called by one thread after the other; without one, `nobody`."""
    if hear is None:
        return nobody
    lock, listener = RLock(), hear

    def heard(event: Event) -> None:
        with lock:
            listener(event)

    return heard


def saying(say: Callable[[str], None] | None, hear: Hear) -> Callable[[str], None]:
    """What a line for a person goes to: `say`, if there is one, and the listener."""

    def said(text: str) -> None:
        if say is not None:
            say(text)
        hear(Message(text))

    return said


def now_and_then(say: Callable[[str], None]) -> Callable[[str], None]:
    """Says a line where EVERY seconds have gone by since the last one, and drops it otherwise."""
    last = time.monotonic()

    def said(text: str) -> None:
        nonlocal last
        if time.monotonic() - last >= EVERY:
            last = time.monotonic()
            say(text)

    return said

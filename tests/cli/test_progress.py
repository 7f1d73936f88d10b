"""What the user sees during the search: numbers of the best program saved, a line every ten seconds in a log."""

from __future__ import annotations

import io
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from shrinkray_gpu.cli.progress import Progress
from shrinkray_gpu.reduction.outcome import ProgressEvent
from shrinkray_gpu.reduction.program import Program

LARGE = Program.from_text("a = 1\nb = 2\nprint(a + b)\n")
SMALL = Program.from_text("print(1)\n")


@dataclass
class Lanes:
    jobs: int = 3


@dataclass
class Tally:
    """As much of a test as is shown."""

    tries: Counter[str] = field(default_factory=lambda: Counter({"lane": 40, "dry run": 10}))
    pool: Lanes = field(default_factory=Lanes)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(stream: io.StringIO, *events: tuple[float, Any, Program], verbose: bool = False) -> str:
    """What is written when these events come at these seconds."""
    times = iter([seconds for seconds, _, _ in events])
    progress = Progress(Path("x.shrink/best.py"), verbose=verbose, stream=stream, clock=lambda: next(times))
    tally: Any = Tally()
    for _, kind, program in events:
        progress.show(ProgressEvent(kind, program, 2, "loops"), tally)
    text = stream.getvalue()
    progress.close()
    return text


def test_a_log_gets_a_line_every_ten_seconds() -> None:
    tried = [(seconds / 2, "tried", LARGE) for seconds in range(50)]
    said = shown(io.StringIO(), *tried).splitlines()
    assert [line.split()[0] for line in said] == ["10", "20"]
    size = LARGE.size.tokens
    assert f"{size} of {size} tokens, 3 lines; tries: 10 dry run, 40 lane, 5.0/s; 3 lanes; round 2 loops" in said[0]
    assert said[0].endswith("best: x.shrink/best.py")


@pytest.mark.parametrize("kind", ["accepted", "rolled back"])
def test_the_size_is_that_of_the_best(kind: str) -> None:
    said = shown(io.StringIO(), (0, "round", LARGE), (1, kind, SMALL), (12, "tried", LARGE))
    assert f"{SMALL.size.tokens} of {LARGE.size.tokens} tokens, 1 lines" in said


def test_verbose_tells_each_step() -> None:
    said = shown(io.StringIO(), (0, "round", LARGE), (1, "tried", LARGE), (2, "accepted", SMALL), verbose=True)
    assert [line.split("lines")[1].strip() for line in said.splitlines()] == ["round 2", "accepted: loops"]


def test_a_terminal_gets_one_bar() -> None:
    said = shown(Terminal(), (0, "round", LARGE), (1, "accepted", SMALL))
    last = said.split("\r")[-1]
    assert last.startswith(" ") and "% gone |" in last
    assert f"| {SMALL.size.tokens} of {LARGE.size.tokens} tokens, 1 lines; tries:" in last

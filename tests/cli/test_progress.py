"""What the user sees during the search: numbers of the best program saved, a line every ten seconds in a log."""

from __future__ import annotations

import io
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from shrinkray_gpu.cli.progress import ORDER, Progress
from shrinkray_gpu.cli.screen import Screen
from shrinkray_gpu.reduction.outcome import ProgressEvent
from shrinkray_gpu.reduction.program import Program

_ESCAPE = re.compile(r"\x1b\[[?\d;]*[A-Za-z]")
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


def plain(text: str) -> str:
    return _ESCAPE.sub("", text)


def shown(
    stream: io.StringIO, *events: tuple[float, Any, Program], verbose: bool = False, pass_name: str = "loops"
) -> str:
    """What is written when these events come at these seconds, each in the round after the last one that accepted."""
    times = iter([seconds for seconds, _, _ in events])
    screen = Screen(stream=stream)
    progress = Progress(Path("x.shrink/best.py"), screen, verbose=verbose, clock=lambda: next(times))
    tally: Any = Tally()
    for at, (_, kind, program) in enumerate(events):
        progress.show(ProgressEvent(kind, program, 2 if at == len(events) - 1 else 1, pass_name), tally)
    if screen._bar is not None:
        screen._bar._prog.refresh()
    text = stream.getvalue()
    screen.close()
    return text


def test_a_log_gets_a_line_every_ten_seconds() -> None:
    tried = [(seconds / 2, "tried", LARGE) for seconds in range(50)]
    begun, *said = shown(io.StringIO(), *tried).splitlines()
    size = LARGE.size.tokens
    assert begun == f"searching from {size} tokens, 3 lines; Ctrl-C keeps the best so far: x.shrink/best.py"
    assert [line.split()[0] for line in said] == ["10", "20"]
    assert f"{size} of {size} tokens, 3 lines; pass loops, round 1; tries: 10 dry run, 40 lane, 5.0/s" in said[0]
    assert said[0].endswith("; 3 lanes; best: x.shrink/best.py")


@pytest.mark.parametrize("kind", ["accepted", "rolled back"])
def test_the_size_is_that_of_the_best(kind: str) -> None:
    said = shown(io.StringIO(), (0, "round", LARGE), (1, kind, SMALL), (12, "tried", LARGE))
    assert f"{SMALL.size.tokens} of {LARGE.size.tokens} tokens, 1 line;" in said


def test_verbose_tells_each_step() -> None:
    said = shown(io.StringIO(), (0, "round", LARGE), (1, "tried", LARGE), (2, "accepted", SMALL), verbose=True)
    assert [line.split("lines")[1].strip() for line in said.splitlines()[1:]] == ["round 1", "accepted: loops"]


@pytest.mark.parametrize("width", [80, 120])
def test_a_terminal_gets_one_bar_with_what_matters_first(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    said = shown(Terminal(), (0, "round", LARGE), (1, "accepted", SMALL), (2, "accepted", SMALL))
    last = plain(said).split("\r")[-1]
    assert f"0:00:00 {SMALL.size.tokens} tokens, 1 line; pass loops, round 2; 50 tries" in last and "%" not in last
    assert all(len(line) <= width for line in plain(said).splitlines()[1:])


@pytest.mark.parametrize("width, more", [(80, ";"), (120, " that nothing smaller works;")])
def test_the_end_is_an_honest_one(width: int, more: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search spends half of its time on showing that nothing smaller works: a share of what is gone stands still."""
    monkeypatch.setenv("COLUMNS", str(width))
    events = (0, "accepted", SMALL), (1, "round", SMALL), (2, "tried", SMALL)
    at, passes = ORDER["loops"], len(ORDER)
    assert f"minimal so far; check {at} of {passes}{more} 50 tries" in plain(shown(Terminal(), *events))

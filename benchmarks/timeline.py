"""Where the seconds of one reduction go: what ran when before its search, and what the search waited for.

    python benchmarks/timeline.py FILE.py --oracle SPEC [other options of shrink]
    TIMELINE=events.json python benchmarks/timeline.py ...         every event, too: kind, begin, end, thread

The reduction runs in this process as `shrink` would run it, with a clock around whatever starts a process or waits for
one. Times are in seconds from the command. `busy` are those in which at least one event of the kind was under way: the
sum counts those beside each other each.
"""

from __future__ import annotations

import functools
import json
import os
import sys
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from shrinkray_gpu import calibration
from shrinkray_gpu.cli import main as cli
from shrinkray_gpu.device import coredump, disassembly
from shrinkray_gpu.job import attach, reduce, whose  # noqa: E402
from shrinkray_gpu.judging.ahead import Ahead  # noqa: E402
from shrinkray_gpu.runner import lanes, plain, pool, sanitizer  # noqa: E402

PHASES = {
    "the program, and its launch lifted": (reduce, "begin"),
    "calibration": (calibration, "make"),
    "search": (reduce, "search"),
    "final check": (reduce, "conclude"),
    "whose fault it is": (whose, "blame_in_brief"),
    "attachment": (attach, "at_the_end"),
    "attachment written": (attach, "write_attachment"),
}
CLOCKED = {
    "a worker comes up": (lanes.Worker, "__init__"),
    "a lane is forked": (lanes.Worker, "spawn"),
    "a lane comes up": (lanes.Lane, "wait_ready"),
    "a run in a lane or process": (lanes.Lane, "run"),
    "a cold process": (pool, "cold"),
    "a plain process": (plain, "run_text"),
    "the sanitizer": (sanitizer, "run"),
    "cuda-gdb": (coredump, "read"),
    "nvdisasm": (disassembly, "listing"),
    "the search waits for verdicts": (Ahead, "judge"),
}
LONG = 0.3
"""Seconds from which on an event before the search is listed."""


class Event(NamedTuple):
    kind: str
    begun: float
    ended: float
    thread: str


def main() -> None:
    started, events = time.monotonic(), list[Event]()
    for kind, (owner, name) in {**PHASES, **CLOCKED}.items():
        _clock(owner, name, kind, started, events)
    try:
        cli.main(sys.argv[1:], standalone_mode=False)
    finally:
        print("\n".join(told(events)))
        if path := os.environ.get("TIMELINE"):
            Path(path).write_text(json.dumps(events) + "\n")


def _clock(owner: Any, name: str, kind: str, started: float, events: list[Event]) -> None:
    function = getattr(owner, name)

    @functools.wraps(function)
    def clocked(*args: Any, **options: Any) -> Any:
        begun = time.monotonic() - started
        try:
            return function(*args, **options)
        finally:
            events.append(Event(kind, begun, time.monotonic() - started, threading.current_thread().name))

    setattr(owner, name, clocked)


def told(events: Iterable[Event]) -> list[str]:
    ordered = sorted(events, key=lambda event: event.begun)
    phases = [event for event in ordered if event.kind in PHASES]
    rest = [event for event in ordered if event.kind in CLOCKED]
    search = next((event for event in phases if event.kind == "search"), None)
    lines = [f"{event.begun:8.1f} {event.ended - event.begun:8.1f} s  {event.kind}" for event in phases]
    lines += ["", "before the search: begin, seconds"]
    for event in rest:
        if (search is None or event.begun < search.begun) and event.ended - event.begun >= LONG:
            lines.append(f"{event.begun:8.1f} {event.ended - event.begun:8.1f} s  {event.kind}  [{event.thread}]")
    spans = {"before the search": (0.0, search.begun), "in the search": (search.begun, search.ended)} if search else {}
    spans["after the search" if search else "in all"] = (search.ended if search else 0.0, float("inf"))
    for named, (begun, ended) in spans.items():
        lines += ["", f"{named:32} {'times':>6} {'sum s':>8} {'busy s':>8} {'longest':>8}"]
        for kind in CLOCKED:
            mine = [(event.begun, event.ended) for event in rest if event.kind == kind and begun <= event.begun < ended]
            if mine:
                took = [end - begin for begin, end in mine]
                lines.append(f"{kind:32} {len(mine):6} {sum(took):8.1f} {_busy(mine):8.1f} {max(took):8.2f}")
    return lines


def _busy(spans: Iterable[tuple[float, float]]) -> float:
    total, until = 0.0, float("-inf")
    for begin, end in sorted(spans):
        total += max(0.0, end - max(begin, until))
        until = max(until, end)
    return total


if __name__ == "__main__":
    main()

"""Where the seconds of one reduction go: what ran when before its search, and what the search waited for.

    python benchmarks/timeline.py FILE.py --oracle SPEC [other options of shrink]
    TIMELINE=events.json python benchmarks/timeline.py ...         every event, too: kind, begin, end, thread

The reduction runs in this process as `shrink` would run it, with a clock around whatever starts a process or waits for
one. Times are in seconds from the command. `busy` are those in which at least one event of the kind was under way: the
sum counts those beside each other each.

Below stands the floor, measured when all is over: what no reduction to this result can do without, one after another.
The program runs once, each accepted step is compiled once, and the result runs once.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import contexts

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from shrinkray_gpu import calibration  # noqa: E402
from shrinkray_gpu.cli import main as cli  # noqa: E402
from shrinkray_gpu.device import coredump, disassembly, gpus  # noqa: E402
from shrinkray_gpu.job import attach, reduce, whose  # noqa: E402
from shrinkray_gpu.job.conclusion import ReproFindings  # noqa: E402
from shrinkray_gpu.job.ready import Ready  # noqa: E402
from shrinkray_gpu.judging.ahead import Ahead  # noqa: E402
from shrinkray_gpu.reduction.checks.question import Questions  # noqa: E402
from shrinkray_gpu.reduction.outcome import Reduction  # noqa: E402
from shrinkray_gpu.runner import lanes, plain, pool, sanitizer  # noqa: E402
from shrinkray_gpu.runner.zygotes import ZYGOTES  # noqa: E402
from shrinkray_gpu.start import UserProgram  # noqa: E402

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
    "the search waits for a check": (Questions, "finish"),
}
LONG = 0.3
"""Seconds from which on an event before the search is listed."""
LANES = 4
"""Contexts that come up beside each other: more bring no more a second."""


class Event(NamedTuple):
    kind: str
    begun: float
    ended: float
    thread: str


@dataclass
class Reduced:
    """What the floor is measured of."""

    given: UserProgram | None = None
    ready: Ready | None = None
    reduction: Reduction | None = None
    end: ReproFindings | None = None


def main() -> None:
    started, events, reduced = time.monotonic(), list[Event](), Reduced()
    _remember(reduced)
    for kind, (owner, name) in {**PHASES, **CLOCKED}.items():
        _clock(owner, name, kind, started, events)
    try:
        cli.main(sys.argv[1:], standalone_mode=False)
    finally:
        took = time.monotonic() - started
        print("\n".join(told(events)))
        if reduced.end is not None:
            print("\n".join(["", *floor(reduced, took)]))
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


def _remember(reduced: Reduced) -> None:
    job: Any = reduce
    prepare, search, conclude = job.prepare, job.search, job.conclude

    def prepared(start: Any, given: UserProgram, *args: Any) -> Ready:
        ready: Ready = prepare(start, given, *args)
        reduced.given, reduced.ready = given, ready
        return ready

    def searched(*args: Any, **options: Any) -> Reduction:
        reduction: Reduction = search(*args, **options)
        reduced.reduction = reduction
        return reduction

    def concluded(*args: Any, **options: Any) -> ReproFindings:
        end: ReproFindings = conclude(*args, **options)
        reduced.end = end
        return end

    job.prepare, job.search, job.conclude = prepared, searched, concluded


def floor(reduced: Reduced, took: float) -> list[str]:
    """Each is the quicker of two, alone on the machine as far as this tool goes."""
    given, ready, reduction, end = reduced.given, reduced.ready, reduced.reduction, reduced.end
    assert given is not None and ready is not None and reduction is not None and end is not None
    Path(given.setup.scratch).mkdir(parents=True, exist_ok=True)
    here = given.alone if ready.start.alone else given
    command = [given.setup.python, "-c", "import torch, triton"]
    environment = {**os.environ, **given.setup.environment}
    with ZYGOTES.wanted():
        imports = quickest(lambda: subprocess.run(command, env=environment, check=False, capture_output=True))
        program = quickest(lambda: given.cold().cold(given.program.text))
        steps = [min(in_a_lane(text, here, ready) for _ in range(2)) for text in (ready.program.text, end.final.text)]
        result = quickest(lambda: here.cold().cold(end.final.text))
    step, accepted = sum(steps) / 2, reduction.cost.accepted
    rows = [
        ("import of torch and Triton, within each of the runs", imports, 0),
        ("one run of the program, in a new interpreter", program, 1),
        (f"one step, compiled in a lane: the first {steps[0]:.2f} s, the last {steps[1]:.2f} s", step, accepted),
        ("one run of the result, in a new interpreter", result, 1),
    ]
    lines = [f"{'the floor, each measured alone':64} {'one s':>7} {'times':>6} {'sum s':>7}"]
    for what, seconds, times in rows:
        lines.append(f"{what:64} {seconds:7.2f} {times or '':>6} {f'{seconds * times:.1f}' if times else '':>7}")
    whole = sum(seconds * times for _, seconds, times in rows)
    lines.append(f"{'all of them':64} {'':7} {'':6} {whole:7.1f}, of {took:.1f} s")
    if given.setup.arch is None and gpus.present():
        many = contexts.measure(LANES, 3.0, {}, fault=True)["a second"]
        lines.append(f"{f'contexts a second that end in a fault, {LANES} at a time':64} {many:7.2f}")
    return lines


def in_a_lane(text: str, here: UserProgram, ready: Ready) -> float:
    """Seconds of a run in a lane that is up, whose kernels are on no disk."""
    with tempfile.TemporaryDirectory(dir=here.setup.scratch) as cache:
        environment = {**here.setup.environment, "TRITON_CACHE_DIR": cache}
        opened = replace(here, setup=replace(here.setup, environment=environment)).lanes(text)
        try:
            where = opened.warm if opened.warm is not None else opened.cold
            where.run("import torch, triton", fresh=True)
            return where.run(text, fresh=True, machine_code=ready.plan.mode.machine_code).seconds
        finally:
            opened.close()


def quickest(do: Callable[[], object]) -> float:
    took = []
    for _ in range(2):
        begun = time.monotonic()
        do()
        took.append(time.monotonic() - begun)
    return min(took)


def _busy(spans: Iterable[tuple[float, float]]) -> float:
    total, until = 0.0, float("-inf")
    for begin, end in sorted(spans):
        total += max(0.0, end - max(begin, until))
        until = max(until, end)
    return total


if __name__ == "__main__":
    main()

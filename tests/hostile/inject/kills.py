"""`kill -9` of the tool at moments spread over all phases of a reduction, which is resumed each time.

Nothing that it started is left, and the last one ends as one that was never killed.

    python -m tests.hostile.inject.kills [--subject NAME]
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.hostile.inject.subjects import SUBJECTS
from tests.hostile.inject.tool import Ended, Subject, Tool, started

PATIENCE = 1800.0
PARTS = {"start": (1.0,), "search": (1.0,), "end": (1.0, 0.5, 0.25, 0.0)}
"""Of its moment. The end may take less time than when it was measured: then it is gone through again, to be killed
sooner."""


@dataclass(frozen=True)
class Moment:
    """When to kill: so many seconds after the command's start, so many lines in the journal, or so many seconds after
    the search's end."""

    phase: str
    at: float

    def __str__(self) -> str:
        return f"{self.phase} {self.at:.0f}" if self.phase == "search" else f"{self.phase} {self.at:.1f} s"


@dataclass(frozen=True)
class Spans:
    """How long the phases of a reduction are that nobody disturbs: seconds, lines of the journal, seconds."""

    text: str
    start: float
    search: int
    end: float


def spans(subject: Subject, folder: Path) -> Spans:
    subject.write(folder)
    tool = started(subject, folder=folder)
    seen: dict[str, float] = {}
    while tool.is_at_work():
        lines, ended = _journal(folder)
        if lines > 3:
            seen.setdefault("start", tool.seconds())
        if ended:
            seen.setdefault("search", tool.seconds())
        time.sleep(0.05)
    done = tool.ended(PATIENCE)
    assert done.code == 0 and not done.left, done
    lines, _ = _journal(folder)
    return Spans(_result(folder), seen["start"], lines, done.seconds - seen["search"])


def moments(chance: random.Random, count: int, chains: int, known: Spans) -> list[list[Moment]]:
    """A quarter each before and after the search, the rest in it; each chain in the order of the reduction."""
    least = {"start": 0.2, "search": 4.0, "end": 0.0}
    most = {"start": known.start, "search": float(known.search), "end": known.end}
    drawn: list[list[Moment]] = [[] for _ in range(chains)]
    for phase, share in (("start", count // 4), ("search", count - 2 * (count // 4)), ("end", count // 4)):
        step = (most[phase] - least[phase]) / share
        ats = [least[phase] + step * (n + chance.random()) for n in range(share)]
        for n, at in enumerate(ats):
            drawn[n % chains].append(Moment(phase, at))
    return drawn


def chain(
    subject: Subject, at: Sequence[Moment], known: Spans, folder: Path
) -> Iterator[tuple[Moment | None, str, float]]:
    """Each moment with what was wrong at it (empty for nothing), and the seconds until nothing was left. At the end
    None, with what is wrong with the result."""
    subject.write(folder)
    for moment in at:
        for part in PARTS[moment.phase]:
            tool = started(subject, "--resume", folder=folder)
            reached = _reached(tool, replace(moment, at=moment.at * part), folder)
            tool.process.kill()
            ended = tool.ended(PATIENCE)
            if reached:
                break
        early = "" if reached else f"it had ended before: {ended.code} {ended.err[-300:]}"
        yield moment, early or _problem(ended, folder), ended.emptied
    ended = started(subject, "--resume", folder=folder).ended(PATIENCE)
    wrong = _problem(ended, folder) or (f"exit code {ended.code}: {ended.err[-1500:]}" if ended.code else "")
    yield None, wrong or ("" if _result(folder) == known.text else f"another result: {_result(folder)}"), ended.emptied


def _reached(tool: Tool, moment: Moment, folder: Path) -> bool:
    """Wait for the moment; False if the command ended before."""
    over = 0.0
    while tool.is_at_work():
        lines, ended = _journal(folder)
        if moment.phase == "start" and tool.seconds() >= moment.at:
            return True
        if moment.phase == "search" and (lines >= moment.at or ended):  # resumed ones may have fewer lines
            return True
        if moment.phase == "end" and ended:
            over = over or tool.seconds()
            if tool.seconds() >= over + moment.at:
                return True
        time.sleep(0.01)
    return False


def _problem(ended: Ended, folder: Path) -> str:
    if ended.left:
        return f"left: {ended.left}"
    if "Traceback (most recent call last)" in ended.err:
        return ended.err[-2000:]
    best = folder / "failing.shrink" / "best.py"
    if best.exists():
        ast.parse(best.read_text())
    return ""


def _journal(folder: Path) -> tuple[int, bool]:
    """Its whole lines, and whether the search has ended."""
    try:
        lines = (folder / "failing.shrink" / "journal.jsonl").read_bytes().split(b"\n")[:-1]
    except OSError:
        return 0, False
    return len(lines), bool(lines) and b'"event":"end"' in lines[-1]


def _result(folder: Path) -> str:
    path = folder / "repro_failing.py"
    return path.read_text() if path.exists() else ""


def run(subject: Subject, count: int, chains: int, seed: int, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """What came of it, a row for each moment and each end."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="kills-") as made:
        (first := Path(made, "undisturbed")).mkdir()
        known = spans(subject, first)
        say(f"{subject.name}: start {known.start:.0f} s, search {known.search} lines, end {known.end:.0f} s")
        for number, at in enumerate(moments(random.Random(seed), count, chains, known)):
            (folder := Path(made, str(number))).mkdir()
            for moment, wrong, emptied in chain(subject, at, known, folder):
                row = {"chain": str(number), "moment": str(moment or "the end"), "problem": wrong}
                rows.append({**row, "seconds until nothing was left": round(emptied, 2)})
                say(f"chain {number}: {moment or 'the end'}: {wrong or 'well'}, nothing left after {emptied:.2f} s")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.hostile.inject.kills")
    parser.add_argument("--subject", choices=SUBJECTS, default="tma_misaligned")
    parser.add_argument("--moments", type=int, default=30)
    parser.add_argument("--chains", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    rows = run(SUBJECTS[given.subject], given.moments, given.chains, given.seed, lambda text: print(text, flush=True))
    problems = sum(bool(row["problem"]) for row in rows)
    kinds = Counter(row["moment"].partition(" ")[0] for row in rows)
    slowest = max(row["seconds until nothing was left"] for row in rows)
    print(f"{len(rows) - kinds['the']} kills ({dict(kinds)}), {problems} problems; nothing left after {slowest} s")
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1) + "\n")
    raise SystemExit(bool(problems))


if __name__ == "__main__":
    main()

"""Makes the cases of the corpus that need a GPU: reduces each original, adds it to a copy of the corpus, replays all.

    python3 -m tests.gpu.make_cases                         all of them
    python3 -m tests.gpu.make_cases missing_mask hang       these only
    python3 -m tests.gpu.make_cases --replay-only           what is there, replayed

Everything is in build/cases: a folder a case with its log, and `corpus`, the copy. A case that is there is left as it
is, and a reduction that was ended is resumed, so calling it again makes what is missing. In $OUT are at the end
`cases.tar.gz` (the new cases, and of each reduction its log, result and repro), `replay.json` and `cases.json` (a
summary). `originals/makings.py` says how each case is made.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import tomlkit

from tests.gpu.originals.makings import MAKINGS, Making

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "cases"
CORPUS = WORK / "corpus"
SHRINK = (sys.executable, "-m", "shrinkray_gpu")
MENDING = 330.0
"""Seconds that all but the search may take: start, lift, rates and perturbations of a flaky fault, the final check."""
AFTER = 130.0
"""The same of those that have the GPU to themselves, after all others: it must be there for them. Of a hang about 60
before the search, 40 after it and 20 to add it: worked out from 5 to 7 s for a cold start, not measured yet."""
REPLAY = 60.0
"""Seconds that are kept for the replay, which took 24."""
TOLD = ("before", "after", "tries", "seconds", "mode", "verified", "final_runs", "rates", "same", "lifted", "ended")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(one.name for one in MAKINGS))
    parser.add_argument("--limit", type=float, default=560, help="seconds for all, the replay among them (560)")
    # Ten at once came to nothing on an H100 with 16 cores: a cold process took half a minute.
    parser.add_argument("--at-a-time", type=int, default=3, help="reductions beside each other (3)")
    parser.add_argument("--jobs", type=int, default=3, help="lanes of each (3)")
    parser.add_argument("--no-replay", action="store_true")
    parser.add_argument("--replay-only", action="store_true")
    args = parser.parse_args()
    known = {one.name: one for one in MAKINGS}
    if unknown := [name for name in args.names if name not in known]:
        parser.error(f"no case is called {', '.join(unknown)}; there are {', '.join(known)}")
    chosen = [] if args.replay_only else [known[name] for name in args.names] or list(MAKINGS)
    started = time.monotonic()
    until = started + args.limit - (0 if args.no_replay else REPLAY)
    before = until - sum(one.seconds + AFTER for one in chosen if one.alone)
    shutil.copytree(ROOT / "corpus", CORPUS, dirs_exist_ok=True)
    made: list[dict[str, Any]] = []
    try:
        with ThreadPoolExecutor(args.at_a_time) as threads:
            beside = [threads.submit(_made, one, args.jobs, before) for one in chosen if not one.alone]
            for future in as_completed(beside):
                made.append(future.result())
                _packed(made)  # a lent machine may be gone at any moment
        made += [_made(one, args.jobs, until) for one in chosen if one.alone]
        _packed(made)
        if not args.no_replay:
            _replay(started + args.limit)
    finally:
        _packed(made)
        print(f"{time.monotonic() - started:.0f} s in all", flush=True)


def _made(one: Making, jobs: int, until: float) -> dict[str, Any]:
    """Reduce and add one case; whatever happens to it is told, and is no other's business."""
    started = time.monotonic()
    try:
        state = _reduced_and_added(one, jobs, until)
    except Exception as error:  # a mistake of ours: the other cases are worth as much
        state = f"{type(error).__name__}: {error}"
    told = _told(WORK / one.name)
    seconds = time.monotonic() - started
    lines = f"{told['before'][0]} to {told['after'][0]} lines, {told['tries']}" if told else ""
    print(f"{one.name}: {state}, {seconds:.0f} s {lines}", flush=True)
    return {"name": one.name, "state": state, "wall": round(seconds, 1), **{k: told[k] for k in TOLD if k in told}}


def _reduced_and_added(one: Making, jobs: int, until: float) -> str:
    if (CORPUS / one.name).exists():
        return "is there already"
    folder = WORK / one.name
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(one.original, folder / f"{one.name}.py")
    for name in one.beside:
        shutil.copy(one.original.parent / name, folder)
    if not _told(folder):
        code = _run(_reduction(one, folder, jobs), folder, one.seconds + MENDING, until)
        if not _told(folder):
            return f"NOT REDUCED, exit code {code}: {_last_words(folder)}"
    add = [*SHRINK, "corpus", "add", f"{one.name}.shrink", "--to", str(CORPUS), "--name", one.name]
    add += ["--title", one.title, "--class", one.klass, "--mechanism", one.mechanism]
    code = _run([*add, *(word for url in one.upstream for word in ("--upstream", url))], folder, MENDING, until)
    if code:
        return f"NOT ADDED, exit code {code}: {_last_words(folder)}"
    _need(CORPUS / one.name / "case.toml", one.needs)
    return "added"


def _reduction(one: Making, folder: Path, jobs: int) -> list[str]:
    """The command, for a folder in which it may have been begun before."""
    resume = ["--resume"] if (folder / f"{one.name}.shrink" / "journal.jsonl").exists() else []
    limits = ["--max-time", str(one.seconds), "--jobs", str(jobs), "--no-report"]
    return [*SHRINK, f"{one.name}.py", "--oracle", one.oracle, *one.options, *limits, "--verbose", *resume]


def _run(command: Sequence[str], folder: Path, seconds: float, until: float) -> int | str:
    """Run a command, all that it says in the case's log. Past its time it is asked to end, then ended."""
    end = min(time.monotonic() + seconds, until)
    if end - time.monotonic() < 5:
        return "no time was left"
    with open(folder / "log.txt", "a", encoding="utf-8") as log:
        print("$", *command, file=log, flush=True)
        process = subprocess.Popen(command, cwd=folder, env=_environment(), stdout=log, stderr=log)
        for way in (signal.SIGINT, signal.SIGKILL):
            try:
                return process.wait(max(0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                print(f"past its time: {way.name}", file=log, flush=True)
                process.send_signal(way)
                end = time.monotonic() + 25  # for the result of what it has
        return process.wait()


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}


def _told(folder: Path) -> dict[str, Any]:
    """What the reduction in this folder told of itself when it ended."""
    path = folder / f"{folder.name}.shrink" / "result.json"
    told: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return told


def _last_words(folder: Path) -> str:
    log = folder / "log.txt"
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
    return next((line for line in reversed(lines) if line.startswith("shrink")), lines[-1] if lines else "")[:300]


def _need(path: Path, needs: dict[str, Any]) -> None:
    """Write down what a case needs that a reduction does not know."""
    data = tomlkit.parse(path.read_text(encoding="utf-8"))
    for key, value in needs.items():
        data["needs"][key] = value  # type: ignore[index]
    path.write_text(tomlkit.dumps(data), encoding="utf-8")


def _replay(end: float) -> None:
    """Replay the whole copy of the corpus."""
    started = time.monotonic()
    command = [*SHRINK, "replay", str(CORPUS), "--json"]
    try:
        limit = max(30, end - started)
        done = subprocess.run(command, capture_output=True, text=True, env=_environment(), timeout=limit)
    except subprocess.TimeoutExpired:
        print(f"the replay did not end within {limit:.0f} s", flush=True)
        return
    (WORK / "replay.json").write_text(done.stdout, encoding="utf-8")
    print(f"replay: exit code {done.returncode}, {time.monotonic() - started:.0f} s {done.stderr[-500:]}", flush=True)
    for where in json.loads(done.stdout or "{}").values():
        for name, told in where["cases"].items():
            counted = f"{told['status']} {told['shown']}/{told['runs']}, {told['seconds']:.1f} s"
            print(
                f"  {name}: {'' if told['as expected'] else 'NOT AS EXPECTED '}{counted}: {told['why'][:90]}",
                flush=True,
            )


def _packed(made: list[dict[str, Any]]) -> None:
    """What goes home: few files, since a device machine gives back only so many."""
    out = Path(os.environ.get("OUT", WORK / "out"))
    out.mkdir(parents=True, exist_ok=True)
    (out / "cases.json").write_text(json.dumps(made, indent=1), encoding="utf-8")
    if (WORK / "replay.json").exists():
        shutil.copy(WORK / "replay.json", out)
    with tarfile.open(out / "cases.tar.gz", "w:gz") as tar:
        for one in MAKINGS:
            if (CORPUS / one.name).exists():
                tar.add(CORPUS / one.name, f"corpus/{one.name}")
            for pattern in ("log.txt", "repro_*", "*.shrink/result.json", "*.shrink/best.py"):
                for path in (WORK / one.name).glob(pattern):
                    tar.add(path, f"reductions/{path.relative_to(WORK)}")


if __name__ == "__main__":
    main()

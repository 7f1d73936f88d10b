"""Which passes pay: each program is reduced with all passes, then again without each pass that took a step in it.

    python benchmarks/ablation.py run --limit 540 --beside 8 --jobs 2         programs that fail without a GPU
    python benchmarks/ablation.py run fp8_pack --passes tiles assembly        this program, without each of these
    python benchmarks/ablation.py run --arch none --beside 4 --jobs 4         programs that need this machine's GPU
    python benchmarks/ablation.py run --corpus --programs DIR --share 0/2     the programs of the corpus and DIR too
    python benchmarks/ablation.py take OTHER.json                             rows that another machine measured
    python benchmarks/ablation.py table                                       each pass and the programs it helps

Each row of benchmarks/results/ablation_{cpu,h100}.json is one reduction: a program, a seed, and the pass left out.
`run` writes the file after each reduction, so the same command goes on where a call was interrupted or its `--limit`
ended. It measures a row anew where the tool, the program, the lanes or the options have changed; `--any-tool` accepts
a changed tool. Exit code 0: all rows are there; 5: some are left for the next call.

The reductions use the command line and its journal alone, so that passes may move and be renamed. A step that was taken
back later counts too. Reductions beside each other take longer: compare seconds only where `beside` and `cores` are the
same, and look at CPU seconds first.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomlkit

sys.path.insert(0, str(Path(__file__).parent))

from ablation_table import SAME, Row, drops, sentence, table  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS, CORPUS, RESULTS = ROOT / "benchmarks" / "programs", ROOT / "corpus", ROOT / "benchmarks" / "results"
VIRTUAL, GPU = "virtual GPU", "GPU"
MACHINES = {"compile": {VIRTUAL}, "launch": {VIRTUAL, GPU}}
"""Where a program's fault shows, by the `where` of its program.toml; all other faults need a GPU."""
LEFT = 5
"""Exit code: reductions are left for the next call."""
ENDING = 10.0
"""Seconds before the limit at which reductions under way are ended, so that the call itself ends in time."""
SLOWER = 1.5
"""Without one of its passes a reduction is expected to take so many times as long."""
WHOLE_CALL = 0.8
"""A reduction that had this share of the limit and did not end would not end in the next call either."""
BILL = re.compile(r"(\S.*?)\s+(\d+)\s+(\d+)\s+(\d+)\s+(-?\d+)(?:\s+[\d.]+){3}")
"""A line of the table that `--verbose` ends with: pass, tries, free, taken, tokens, and three times."""

WITH_CPU = """
import pathlib, resource, subprocess, sys
code = subprocess.call(sys.argv[2:])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
pathlib.Path(sys.argv[1]).write_text(str(used.ru_utime + used.ru_stime))
sys.exit(code)
"""
"""Runs a command and writes down the CPU seconds of it and of all processes that it waited for."""


@dataclass(frozen=True)
class Subject:
    """A failing program whose reduction is measured."""

    name: str
    path: Path
    options: tuple[str, ...]
    argv: tuple[str, ...]
    machines: frozenset[str]
    """Where its fault shows: on the virtual GPU, on a GPU, or on both."""

    @property
    def source(self) -> str:
        return hashlib.sha256(self.path.read_bytes()).hexdigest()[:12]


@dataclass(frozen=True)
class Setting:
    """What is the same for all reductions of a call."""

    command: tuple[str, ...]
    """The reducer, with the options that are the same for all programs."""
    checkout: Path
    """The tree whose package reduces."""
    seed: int
    on: Row
    """What each row says about the tool, its options and the machine."""


@dataclass(frozen=True)
class Task:
    """One reduction to run."""

    subject: Subject
    dropped: str | None
    """The pass left out; None for the reduction with all passes."""


@dataclass(frozen=True)
class Allowance:
    """The time that a call may take."""

    limit: float
    ends: float
    """By time.monotonic()."""
    stop: threading.Event
    """Set when all reductions are to end at once."""


# What there is to reduce, and what is left to run


def subjects(folder: Path) -> list[Subject]:
    """The programs in a folder: those of benchmarks/programs and cases of the corpus are told by their cards."""
    cards = [card for card in sorted(folder.glob("*/*.toml")) if card.name in ("program.toml", "case.toml")]
    return [_subject(card) for card in cards if (card.parent / "failing.py").exists()]  # a case of IR has no program


def _subject(card: Path) -> Subject:
    says: Row = tomlkit.parse(card.read_text()).unwrap()
    needs = says.get("needs", {})
    if card.name == "program.toml":
        machines = MACHINES.get(says["where"], {GPU})
    else:  # a case that names no architecture and needs no GPU is one of Triton's interpreter
        machines = {GPU} if needs.get("gpu") else {VIRTUAL} if needs.get("architecture") else set()
    options = [word for spec in says["oracle"] for word in ("--oracle", spec)]
    options += [word for spec in says.get("reject", []) for word in ("--reject", spec)]
    options += [word for name, value in says.get("environment", {}).items() for word in ("--env", f"{name}={value}")]
    argv = tuple(says.get("argv", []))
    return Subject(card.parent.name, card.with_name("failing.py"), tuple(options), argv, frozenset(machines))


def chosen(given: argparse.Namespace) -> list[Subject]:
    """The programs of this call. A program that is named takes part on any machine."""
    folders = [PROGRAMS, *([CORPUS] if given.corpus else []), *given.programs]
    known: dict[str, Subject] = {}
    for one in (one for folder in folders for one in subjects(folder)):
        if one.name in known:
            raise SystemExit(f"two programs are called {one.name}: {known[one.name].path} and {one.path}")
        known[one.name] = one
    if unknown := set(given.names) - set(known):
        raise SystemExit(f"no such program: {', '.join(sorted(unknown))}. There are {', '.join(known)}")
    machine = GPU if given.arch == "none" else VIRTUAL
    fitting = [one for one in known.values() if (one.name in given.names if given.names else machine in one.machines)]
    share, shares = map(int, given.share.split("/"))
    return fitting[share::shares]


def tasks(of: Iterable[Subject], rows: Iterable[Row], schedule: Sequence[str], only: Collection[str]) -> list[Task]:
    """What the rows do not have yet. A program's passes are known once its reduction with all of them has a row."""
    measured = {(row["program"], row["dropped"]): row for row in rows}
    found: list[Task] = []
    for one in of:
        whole = measured.get((one.name, None))
        if whole is None:
            found.append(Task(one, None))
        elif "error" not in whole:
            names = [name for name in drops(whole, schedule) if name in only or not only]
            found += [Task(one, name) for name in names if (one.name, name) not in measured]
    return sorted(found, key=lambda task: task.dropped is not None)


def added(rows: Sequence[Row], new: Row) -> list[Row]:
    """The rows with this one, in place of an older one of the same reduction."""
    key = ("program", "dropped", "seed")
    return [row for row in rows if any(row[name] != new[name] for name in key)] + [new]


# One reduction


def reduced(task: Task, setting: Setting, allowed: Allowance) -> Row | None:
    """A row, or None where the time was over first and the next call may have more of it."""
    subject = task.subject
    with tempfile.TemporaryDirectory(prefix="ablation-", ignore_cleanup_errors=True) as folder:
        words = ["--skip-pass", task.dropped] if task.dropped else []
        command = [*setting.command, *words, "--output", f"{folder}/repro.py", str(subject.path.absolute())]
        path = os.pathsep.join([str(setting.checkout.absolute()), os.environ.get("PYTHONPATH", "")])
        begun = time.monotonic()
        with Path(folder, "log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-c", WITH_CPU, f"{folder}/cpu", *command, *subject.options,
                 *(["--", *subject.argv] if subject.argv else [])],
                cwd=folder, env={**os.environ, "PYTHONPATH": path, "TMPDIR": folder},
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
            ended = _waited(process, allowed)
        wall = time.monotonic() - begun
        row: Row = {"program": subject.name, "dropped": task.dropped, "seed": setting.seed}
        row |= {"source": subject.source, "wall": round(wall, 1), "on": setting.on}
        if not ended:
            hopeless = not allowed.stop.is_set() and wall > WHOLE_CALL * allowed.limit
            return row | {"error": f"did not end within {wall:.0f} s"} if hopeless else None
        return row | _figures(Path(folder), process.returncode)


def _waited(process: subprocess.Popen[bytes], allowed: Allowance) -> bool:
    """Whether the process ended by itself. One that would not is killed with all that it started."""
    while process.poll() is None and not allowed.stop.is_set() and time.monotonic() < allowed.ends:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.2)
    if process.poll() is not None:
        return True
    for number in (signal.SIGINT, signal.SIGINT, signal.SIGKILL):  # the second one leaves out the final check
        with contextlib.suppress(subprocess.TimeoutExpired, ProcessLookupError):
            os.killpg(process.pid, number)
            process.wait(2)
    process.wait()
    return False


def _figures(folder: Path, code: int) -> Row:
    log = (folder / "log").read_text(errors="replace")
    results = list(folder.glob("*.shrink/result.json"))
    if code not in (0, 4) or not results:  # 4: the last check failed, and the best verified program is the result
        return {"error": f"exit code {code}: {log.strip()[-300:]}"}
    result = json.loads(results[0].read_text())
    lines = [json.loads(line) for line in (results[0].parent / "journal.jsonl").read_text().splitlines()]
    sizes = [line["size"] for line in lines if line.get("event") == "accept"]
    if not sizes:
        return {"error": "no pass took a step"}
    return {
        "code": code,
        "tokens": result["after"][1],
        "lines": result["after"][0],
        "size": sizes[-1],
        "tries": sum(result["tries"].values()),
        "by tier": result["tries"],
        "cpu": round(float((folder / "cpu").read_text()), 1),
        "seconds": round(sum(result["seconds"][name] for name in ("start", "search")), 1),
        "steps": steps(lines, result["before"][1]),
        "bills": bills(log),
        "text": result["text"],
    }


def steps(journal: Iterable[Mapping[str, Any]], tokens: int) -> dict[str, Row]:
    """By pass, how many steps the journal has of it and how many tokens went with them; the original has `tokens`.

    A step within a trial has two names, as `inlining: constants`: it would not be there without either of them.
    """
    found: dict[str, Row] = {}
    for line in journal:
        if line.get("event") != "accept":
            continue
        for at, name in enumerate(line["pass"].split(": ")):
            bill = found.setdefault(name, {"steps": 0, "tokens": 0})
            bill["steps"] += 1
            bill["tokens"] += 0 if at else tokens - line["size"][1]
        tokens = line["size"][1]
    return found


def bills(log: str) -> dict[str, dict[str, int]]:
    """By pass, its line in the table that ends the search; passes without a candidate are left out."""
    after = log.partition("finding judging\n")[2].splitlines()
    found = (BILL.fullmatch(line) for line in after)
    columns = ("tries", "free", "taken", "tokens")
    read = {match[1]: dict(zip(columns, map(int, match.groups()[1:]))) for match in found if match}
    return {name: bill for name, bill in read.items() if any(bill.values()) and name != "all"}


# A call


def settled(given: argparse.Namespace) -> tuple[Setting, list[str]]:
    """The setting of this call, and the passes that its tool can leave out."""
    command = [sys.executable, "-m", "shrinkray_gpu"]
    checkout: Path = given.tool.absolute()
    path = os.pathsep.join([str(checkout), os.environ.get("PYTHONPATH", "")])
    listed = subprocess.run([*command, "--list-passes"], env={**os.environ, "PYTHONPATH": path}, cwd=checkout,
                            capture_output=True, text=True, check=True).stdout  # fmt: skip
    probe = "from importlib.metadata import version; print(version('torch'), version('triton'))"
    probed = subprocess.run([given.python, "-c", probe], capture_output=True, text=True, check=True)
    torch, triton = probed.stdout.split()
    package = sorted((checkout / "shrinkray_gpu").rglob("*.py"))
    tool = hashlib.sha256(b"\0".join(str(one.relative_to(checkout)).encode() + one.read_bytes() for one in package))
    arch = None if given.arch == "none" else given.arch
    on = {"arch": arch, "jobs": given.jobs, "options": given.extra, "torch": torch, "triton": triton}
    on |= {"tool": tool.hexdigest()[:12], "beside": given.beside, "cores": os.cpu_count(), "date": time.strftime("%F")}
    command += ["--verbose", "--no-report", "--restart", "--jobs", str(given.jobs), "--seed", str(given.seed)]
    command += ["--python", given.python, *(["--arch", arch] if arch else []), *given.extra]
    return Setting(tuple(command), checkout, given.seed, on), [line.split()[0] for line in listed.splitlines()]


def run(given: argparse.Namespace, path: Path, results: Row) -> int:
    limit = given.limit or float("inf")
    allowed = Allowance(limit, time.monotonic() + limit - ENDING, threading.Event())
    of = {one.name: one for one in chosen(given)}
    setting, results["passes"] = settled(given)
    if unknown := set(given.passes) - set(results["passes"]):
        raise SystemExit(f"no such pass: {', '.join(sorted(unknown))}. There are {', '.join(results['passes'])}")
    if given.again:
        results["rows"] = [row for row in results["rows"] if row["program"] not in of or "error" not in row]
    same = [name for name in SAME if name != "tool" or not given.any_tool]

    def left() -> list[Task]:
        rows = [
            row for row in results["rows"]
            if row["program"] in of and row["seed"] == setting.seed and row["source"] == of[row["program"]].source
            and all(row["on"][name] == setting.on[name] for name in same)
        ]  # fmt: skip
        return tasks(of.values(), rows, results["passes"], given.passes)

    with ThreadPoolExecutor(given.beside) as threads:
        try:
            for row in _rows(left, results, setting, allowed, threads, given.beside):
                results["rows"] = added(results["rows"], row)
                save(path, results)
                print(sentence(row), flush=True)
        except KeyboardInterrupt:
            print("interrupted: the same command goes on", file=sys.stderr)
            return 130
        finally:
            allowed.stop.set()
    if rest := left():
        print(f"left for the next call: {len(rest)} reductions, and those that they lead to")
    return LEFT if rest else 0


def _rows(left: Any, results: Row, setting: Setting, allowed: Allowance, threads: ThreadPoolExecutor,
          beside: int) -> Iterator[Row]:  # fmt: skip
    """Rows as they come, so many reductions beside each other. None begins that the limit would most likely cut."""
    running: dict[Future[Row | None], Task] = {}
    while True:
        seconds = {row["program"]: SLOWER * row["wall"] for row in results["rows"] if row["dropped"] is None}
        for task in left():
            in_time = time.monotonic() + seconds.get(task.subject.name, 0.0) < allowed.ends
            if in_time and len(running) < beside and task not in running.values():
                running[threads.submit(reduced, task, setting, allowed)] = task
        if not running:
            return
        for done in wait(running, return_when=FIRST_COMPLETED).done:
            del running[done]
            if (row := done.result()) is not None:
                yield row


def save(path: Path, results: Row) -> None:
    """Replaced as a whole: a kill leaves the file as it was before or after."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f"{path.name}.new")
    new.write_text(json.dumps(results, indent=1) + "\n")
    os.replace(new, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    call = commands.add_parser("run", help="reduce what has no row yet")
    call.add_argument("names", nargs="*", help="programs; default: all whose fault this machine can show")
    call.add_argument("--programs", type=Path, action="append", default=[], metavar="DIR", help="a folder of others")
    call.add_argument("--corpus", action="store_true", help="the cases of the corpus as well")
    call.add_argument("--passes", nargs="*", default=[], metavar="NAME", help="of those that took a step, these only")
    call.add_argument("--arch", default="sm_90", help="the virtual GPU's; `none` for the GPU of this machine")
    call.add_argument("--limit", type=float, metavar="S", help="seconds after which this call has ended")
    call.add_argument("--beside", type=int, default=1, metavar="N", help="reductions at once")
    call.add_argument("--jobs", type=int, default=2, metavar="N", help="lanes of each reduction")
    call.add_argument("--share", default="0/1", metavar="I/N", help="every N-th program, from the I-th on")
    call.add_argument("--seed", type=int, default=0)
    call.add_argument("--python", default=sys.executable, help="has torch and Triton")
    call.add_argument("--tool", type=Path, default=ROOT, metavar="CHECKOUT", help="the tree whose package reduces")
    call.add_argument("--with", dest="extra", action="append", default=[], metavar="OPTION", help="for the reducer")
    call.add_argument("--any-tool", action="store_true", help="go on with rows of another state of the tool")
    call.add_argument("--again", action="store_true", help="run also what ended in an error")
    take = commands.add_parser("take", help="add the rows of other files")
    take.add_argument("files", nargs="+", type=Path)
    for command in (call, take, commands.add_parser("table", help="print each pass and the programs it helps")):
        command.add_argument("--json", type=Path, help="the results; default: ablation_cpu.json in benchmarks/results, "
                             "or ablation_h100.json with --arch none")  # fmt: skip
    given = parser.parse_args()
    path = given.json or RESULTS / f"ablation_{'h100' if getattr(given, 'arch', '') == 'none' else 'cpu'}.json"
    results: Row = json.loads(path.read_text()) if path.exists() else {"passes": [], "rows": []}
    if given.command == "run":
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        sys.exit(run(given, path, results))
    if given.command == "take":
        for other in (json.loads(file.read_text()) for file in given.files):
            results["passes"] = results["passes"] or other["passes"]
            for row in other["rows"]:
                results["rows"] = added(results["rows"], row)
        save(path, results)
    print(table(results))


if __name__ == "__main__":
    main()

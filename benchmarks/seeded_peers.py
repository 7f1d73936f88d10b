"""Ours against the tools that a user would pick instead, on seeded faults: who keeps the cause?

    python benchmarks/seeded_peers.py run --seed 20053 --shrinkray VENV/bin/shrinkray --autodd autodd.py \\
        --pysource-minimize VENV/bin/python --cvise cvise
    python benchmarks/seeded_peers.py table

Faults are drawn as `benchmarks/seeded.py` draws them, of the compiler and of resources, on the virtual GPU. Ours gets
the call of the package, as in `seeded.py`. A peer edits one file, and the fault lies in the package: so the module with
the fault, and those that the call imports, are pasted into the call first, as a user would do (`pasted`). The peer's
test is a user's, too: a new process, and the last line that the fault prints.

What a tool leaves is judged by the checker of `seeded.py`: the fix, carried to what is left of the place, must make it
pass. A case at a time, a tool at a time; what has a result in benchmarks/results/seeded_peers.json is not run again.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

import peers  # noqa: E402
import seeded  # noqa: E402
import suite  # noqa: E402
from seeding import cases, packages, reducing, runs, scoreboard, truth  # noqa: E402

from shrinkray_gpu.lift.bundle import bundle  # noqa: E402
from shrinkray_gpu.reduction.size import lines  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results" / "seeded_peers.json"
ARCH = 90
"""Of virtual_python.py."""
ABOUT = (
    "Seeded faults, reduced by ours and by the peers within the same time, and judged by the same checker. `before` "
    "and `lines`: of what the tool was given and left; of ours, of the launch that it lifted. Written by "
    "benchmarks/seeded_peers.py."
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("run")
    command.add_argument("--half", choices="AB", default="B")
    command.add_argument("--limit", type=int, default=12, help="faults")
    command.add_argument("--seed", type=int, default=20053)
    command.add_argument("--timeout", type=float, default=90.0, help="seconds for each tool")
    command.add_argument("--lanes", type=int, default=os.cpu_count() or 1)
    command.add_argument("--until", type=float, default=math.inf, help="seconds, after which no tool is begun")
    peers.add_tools(command)
    commands.add_parser("table")
    for one in commands.choices.values():
        one.add_argument("--results", type=Path, default=RESULTS)
    given = parser.parse_args()
    board = json.loads(given.results.read_text()) if given.results.exists() else {"about": ABOUT, "faults": {}}
    if given.command == "run":
        _run(board, given)
    print(table(board))


def _run(board: dict[str, Any], given: argparse.Namespace) -> None:
    packages.ready()
    given.oracle = ["compiler", "resources"]
    machine, started = runs.Machine(ARCH), time.monotonic()
    tools = [peers.Tool("ours", ""), *peers.given_tools(given)]
    with runs.lanes(machine, [packages.SITE], 2) as pool:
        for at, fault in enumerate(seeded.drawn(machine, pool, given)):
            told = board["faults"].setdefault(fault.name, {"tools": {}})
            turn = at % len(tools)
            for tool in tools[turn:] + tools[:turn]:
                if tool.name in told["tools"]:
                    continue
                if time.monotonic() - started > given.until:
                    return
                ask = partial(reducing.outcome, pool, wants=fault.asked.wants)
                measure = _by_ours if tool.name == "ours" else _by_peer
                found = measure(tool, fault, machine, ask, given)
                told["tools"][tool.name] = {**found, "commit": packages.commit(), "limit": given.timeout}
                scoreboard.save(given.results, board)
                print(fault.name, tool.name, json.dumps(found), flush=True)


def _by_ours(
    tool: peers.Tool, fault: cases.Planted, machine: runs.Machine, ask: reducing.Ask, given: argparse.Namespace
) -> dict[str, Any]:
    folder = packages.BUILD / "peers" / fault.name.replace("/", "_")
    # The command searches for half of the time within which it must end: here its final check comes on top.
    options = ["--jobs", str(given.lanes)]
    row = reducing.reduce(fault, machine, ask, folder, timeout=2 * given.timeout, options=options)
    return {"verdict": row.verdict, "before": row.before, "lines": row.lines, "seconds": row.seconds}


def _by_peer(
    tool: peers.Tool, fault: cases.Planted, machine: runs.Machine, ask: reducing.Ask, given: argparse.Namespace
) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="seeded-peers-", ignore_cleanup_errors=True) as made:
        form = form_of(fault, Path(made), ask)
        words = last_line(form, machine)
        program = suite.Failing(Path(made), fault.name, "compile", (), words, 0.0, 0)
        setting = peers.Setting(
            program, form.text, f"sm_{ARCH}", given.timeout, given.lanes, machine.python, form.variables
        )
        found = peers.reduced(tool, setting)
        judgement, besides = judged(fault, form, found["text"], ask, Path(made))
    return {
        "verdict": judgement.verdict,
        "why": judgement.why.partition(" (")[0],
        "import let pass": besides,
        "pasted": form.pasted,
        "words": words,
        "before": lines(form.text),
        "lines": found["lines"],
        "tries": found["tries"],
        "seconds": found["wall"],
    }


@dataclass(frozen=True)
class Form:
    """What a peer is given."""

    text: str
    pasted: bool
    """Whether the fault stands in it; else in the package that it imports."""
    variables: tuple[str, ...]
    """NAME=VALUE, so that a run of it finds the packages."""


def form_of(fault: cases.Planted, folder: Path, ask: reducing.Ask) -> Form:
    """The call with the module that has the fault, and the modules that the call imports, pasted into it. Where that
    does not show the fault, the call alone, which imports the package with the fault."""
    program, text = folder / "program.py", fault.program.text
    program.write_text(text)
    names = re.findall(r"^from ([\w.]+) import", text, re.MULTILINE)
    files = [f"{name.replace('.', '/')}{end}" for name in names for end in (".py", "/__init__.py")]
    imported = [one for one in files if one.startswith(fault.program.package) and (packages.SITE / one).exists()]
    for file in {*imported, fault.file}:
        copy = folder / "modules" / file
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(fault.text if file == fault.file else (packages.SITE / file).read_text())
    pasted = bundle(program, text, roots=[folder / "modules"]).text
    if fault.asked.sees(ask(pasted).fault):
        return Form(pasted, True, _variables(packages.SITE))
    packages.overlay(folder / "overlay", fault.program.package, {fault.file: fault.text}, packages.SITE)
    return Form(text, False, _variables(folder / "overlay", packages.SITE))


def _variables(*folders: Path) -> tuple[str, ...]:
    told = {**packages.environment(), "PYTHONPATH": os.pathsep.join(map(str, folders))}
    return tuple(f"{name}={value}" for name, value in told.items())


def last_line(form: Form, machine: runs.Machine) -> str:
    """What the user sees last when it fails, and looks for from then on. Raises SystemExit where it says nothing."""
    with tempfile.TemporaryDirectory(prefix="seeded-peers-", ignore_cleanup_errors=True) as made:
        path = Path(made, "case.py")
        path.write_text(form.text)
        command = ["env", f"TRITON_CACHE_DIR={made}/triton", *form.variables]
        command += [machine.python, "-B", str(peers.VIRTUAL), str(path)]
        seen = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    said = [line.strip() for line in seen.stdout.splitlines() if line.strip()]
    if not seen.returncode or not said:
        raise SystemExit("the program shows no fault in a process of its own, so that a peer cannot be asked")
    return said[-1]


def judged(fault: cases.Planted, form: Form, text: str, ask: reducing.Ask, folder: Path) -> tuple[truth.Judgement, str]:
    """The verdict of what a tool left, as of a repro of ours, and the checker's where the import of the package is let
    pass. What lost no line is not reduced."""
    if lines(text) >= lines(form.text):
        return truth.Judgement("not reduced", "no line less within the time"), ""
    repro = folder / "repro.py"
    repro.write_text(text)
    judgement = reducing.judge(fault, ask, repro)
    if judgement.verdict == "not reduced" and form.pasted:
        return judgement, truth.judge(text, fault.edit, fault.operator, ask).verdict
    return judgement, judgement.verdict


def table(board: dict[str, Any]) -> str:
    """As docs/seeded.md has it."""
    head = ("tool", "faults", *truth.VERDICTS, f"true, {scoreboard.SHORT} lines or fewer")
    head += ("true, imports let pass", "lines before", "lines", "seconds")
    rows = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    for name in ("ours", *peers.PEERS):
        mine = [one["tools"][name] for one in board["faults"].values() if name in one["tools"]]
        if not mine:
            continue
        counts = [sum(one["verdict"] == verdict for one in mine) for verdict in truth.VERDICTS]
        short = sum(one["verdict"] == "true" and one["lines"] <= scoreboard.SHORT for one in mine)
        loose = sum(one.get("import let pass", one["verdict"]) == "true" for one in mine)
        medians = [statistics.median(one[key] for one in mine) for key in ("before", "lines", "seconds")]
        figures = [name, len(mine), *counts, short, loose, *(f"{one:g}" for one in medians)]
        rows.append("| " + " | ".join(map(str, figures)) + " |")
    return "\n".join(rows)


if __name__ == "__main__":
    main()

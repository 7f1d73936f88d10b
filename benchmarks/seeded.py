"""Seeded faults: does a reduction keep the cause, or only the words?

    python benchmarks/seeded.py list --half A --limit 20 --seed 0       what would be planted
    python benchmarks/seeded.py run --half A --limit 20 --seed 0        plant, reduce and judge, one at a time
    python benchmarks/seeded.py judge --half A --limit 20 --seed 0      judge the repros of that run anew
    python benchmarks/seeded.py run --half A --oracle values            the same for kernels that compute something else
    python benchmarks/seeded.py table                                   the scoreboard
    python benchmarks/seeded.py verdicts --half A --limit 12            what `shrink explain` says of each

Released packages with Triton kernels are unpacked below build/seeded; nothing of theirs is in the repository. A short
script of ours calls one of their kernels (seeding/calls/). An operator plants one fault in a copy of the package
(seeding/operators.py); it counts if the script passes without it and fails with it. The tool reduces the script. The
fault's inverse is the fix, so a repro is *true* if the fix, carried to what is left of the place, makes it pass, and
*slipped* if nothing of that place is left or the fix does not help (seeding/truth.py).

Without a GPU all runs are on the virtual one, and only faults that it sees are planted. On a GPU
(`--arch gpu`), a fault that the driver sees is reduced without an oracle, as the program's user would. With
`--arch memcheck`, accesses that the driver lets pass are drawn on the virtual GPU, and reduced and judged under
compute-sanitizer on the GPU. A run that was
stopped goes on where it was, as long as the tree has the same commit. Figures: benchmarks/results/seeded.json.

`verdicts` reduces nothing: it asks `shrink explain` whose fault each is, and sets that against what the operator says:
a fault of the kernel, or of what launches it. Figures: benchmarks/results/seeded_verdicts.json.
"""

from __future__ import annotations

import argparse
import math
import os
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from seeding import cases, packages, programs, reducing, runs, scoreboard, verdicts  # noqa: E402
from seeding.operators import OPERATORS  # noqa: E402
from seeding.oracles import DIES, MEMCHECK, ORACLES, VALUES, Asked  # noqa: E402
from seeding.seeded_cells import LATE, JudgingLanes, SeededCell, VerdictCell  # noqa: E402

from shrinkray_gpu.cells.cell import Cell, Row  # noqa: E402
from shrinkray_gpu.cells.this_machine import ThisMachine  # noqa: E402
from shrinkray_gpu.errors import UsageError  # noqa: E402
from shrinkray_gpu.runner.pool import Pool  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results" / "seeded.json"
VERDICTS = RESULTS.with_name("seeded_verdicts.json")
OVERLAYS = packages.BUILD / "overlays" / str(os.getpid())
"""Runs beside each other may draw the same fault."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    operators = [one.name for one in OPERATORS]
    for name in ("list", "run", "judge", "verdicts"):
        command = commands.add_parser(name)
        command.add_argument("--half", choices="AB", default="A", help="A: to look at; B: for figures")
        command.add_argument("--limit", type=int, default=20, help="faults")
        command.add_argument("--seed", type=int, default=0)
        command.add_argument(
            "--arch", default="sm_90", help="of the virtual GPU; `gpu`, `memcheck`: this machine's GPU"
        )
        command.add_argument("--timeout", type=float, default=300.0, help="seconds a reduction")
        command.add_argument("--commit", help="names the row; default: the tree's")
        command.add_argument("--oracle", action="append", choices=list(ORACLES), help="only faults that this one sees")
        command.add_argument("--operator", action="append", choices=operators, help="only faults of this one")
        command.add_argument("--at-a-time", type=int, default=1, help="reductions")
        command.add_argument("--until", type=float, default=math.inf, help="seconds, after which no more is begun")
        command.add_argument("--option", action="append", default=[], help="given to `shrink` too")
    commands.add_parser("table")
    for name, one in commands.choices.items():
        one.add_argument("--results", type=Path, default=VERDICTS if name == "verdicts" else RESULTS)
    given = parser.parse_args()
    if given.command == "table":
        print(scoreboard.table(scoreboard.load(given.results)))
        return
    given.until += time.time()
    packages.ready()
    with ExitStack() as lanes:
        machine, faults = _prepared(given, lanes)
        if given.command == "list":
            for fault in faults:
                print(fault.name, fault.diff, sep="\n", flush=True)
        elif given.command == "run":
            _run(list(faults), machine, given)
        elif given.command == "verdicts":
            _verdicts(faults, machine, given)
        else:
            _judge(faults, machine, given)


def _prepared(given: argparse.Namespace, lanes: ExitStack) -> tuple[runs.Machine, Iterator[cases.Planted]]:
    """What reduces, and the faults as they are drawn."""
    if given.arch == "memcheck":
        given.oracle = ["bounds"]
        machine, drawing = runs.Machine(None), runs.Machine(90)
    else:
        machine = drawing = runs.Machine(None if given.arch == "gpu" else int(given.arch.removeprefix("sm_")))
    faults = drawn(drawing, lanes.enter_context(runs.lanes(drawing, [packages.SITE])), given)
    return machine, (replace(each, on_gpu=MEMCHECK) for each in faults) if given.arch == "memcheck" else faults


def _run(faults: list[cases.Planted], machine: runs.Machine, given: argparse.Namespace) -> None:
    board = scoreboard.load(given.results)
    key = {"commit": given.commit or packages.commit(), "half": given.half, "seed": given.seed, "arch": given.arch}
    key |= {"options": given.option} if given.option else {}
    key |= {"operators": given.operator} if given.operator else {}
    row = scoreboard.row_of(board, key | ({"oracles": given.oracle} if given.oracle else {}))
    done = {one["name"] for one in row["faults"]}
    cells = [
        SeededCell(
            fault,
            machine,
            _folder(fault, given),
            given.timeout,
            tuple(given.option),
            memcheck=given.arch == "memcheck",
            until=given.until,
        )
        for fault in faults
        if fault.name not in done
    ]
    for found in _rows(cells, given):
        told = reducing.Row(**found)
        row["faults"].append(told.to_json())
        row["figures"] = scoreboard.figures(row["faults"])
        scoreboard.save(given.results, board)
        print(f"{told.verdict:12}{told.lines:4} lines {told.seconds:6.0f} s  {told.name}: {told.why}", flush=True)
    print(scoreboard.table(board))


def _rows(cells: Sequence[Cell[Any]], given: argparse.Namespace) -> Iterator[Row]:
    """What the cells come to, without those whose turn did not come."""
    with closing(ThisMachine(given.at_a_time, say=print)) as engine, closing(engine.run(cells)) as rows:
        for _, found in rows:
            if LATE not in found:
                yield {name: value for name, value in found.items() if name != "host"}


def _verdicts(faults: Iterator[cases.Planted], machine: runs.Machine, given: argparse.Namespace) -> None:
    board = scoreboard.load(given.results) | {"about": verdicts.ABOUT}
    key = {"commit": given.commit or packages.commit(), "half": given.half, "seed": given.seed, "arch": given.arch}
    row = scoreboard.row_of(board, key | ({"oracles": given.oracle} if given.oracle else {}))
    done = {one["name"] for one in row["faults"]}
    cells = [
        VerdictCell(fault, machine, _folder(fault, given).with_suffix(".explained"), given.timeout, given.until)
        for fault in faults
        if fault.name not in done
    ]
    for found in _rows(cells, given):
        told = verdicts.VerdictRow(**found)
        row["faults"].append(told.to_json())
        row["figures"] = verdicts.figures(row["faults"])
        scoreboard.save(given.results, board)
        print(f"{told.true:14} {told.told:18} {told.seconds:5.0f} s  {told.name}: {told.place} {told.why}", flush=True)
    print(verdicts.table(row["faults"]))


def _judge(faults: Iterator[cases.Planted], machine: runs.Machine, given: argparse.Namespace) -> None:
    """Judge the repros of the last row of this half and seed once more, after the checker has changed."""
    board = scoreboard.load(given.results)
    row = scoreboard.row_of(board, {"half": given.half, "seed": given.seed, "arch": given.arch})
    told = {one["name"]: one for one in row["faults"]}
    with closing(JudgingLanes(machine, 1, memcheck=given.arch == "memcheck")) as lanes:
        for fault in faults:
            repro = _folder(fault, given) / "repro.py"
            before = told.get(fault.name, {}).get("verdict")
            if repro.exists() and before in ("true", "slipped", "undecided"):
                now = reducing.judge(fault, lanes.ask(fault), repro)
                if now.verdict != before:
                    print(f"{fault.name}: {before}, now {now.verdict}: {now.why}", flush=True)
                told[fault.name] |= {"verdict": now.verdict, "why": now.why, "fix": now.fixed}
    row["figures"] = scoreboard.figures(row["faults"])
    scoreboard.save(given.results, board)


def _folder(fault: cases.Planted, given: argparse.Namespace) -> Path:
    return packages.BUILD / "repros" / f"{given.half}{given.seed}" / fault.name.replace("/", "_")


def drawn(machine: runs.Machine, pool: Pool, given: argparse.Namespace) -> Iterator[cases.Planted]:
    """The faults, each checked as it is drawn: the program passes without it, and its oracle sees it."""
    memory = cases.Memory(packages.BUILD / f"runs-{machine.arch}.json")

    values = VALUES in (given.oracle or ())
    if values and given.oracle != [VALUES]:
        raise SystemExit(f"faults of `--oracle {VALUES}` are drawn by themselves, in calls of their own")
    wants = ORACLES[VALUES].wants if values else ()

    def kernels(program: programs.Program) -> list[str]:
        def look() -> list[str] | None:
            run = pool.run(program.text, wants=wants)
            trouble = run.trouble or runs.fault(run) or runs.unknown(run, wants)
            if trouble:
                print(f"nothing is planted in {program.key}: {trouble}", file=sys.stderr, flush=True)
            return None if run.trouble else [] if trouble else sorted(runs.kernels(run))

        return memory.get(f"{program.key}: compared" if values else program.key, look) or []

    def dies(fault: cases.Planted) -> bool:
        asked = ORACLES[fault.operator.oracle]
        if machine.arch is not None or not asked.rule:
            return False
        return bool(memory.get(f"{fault.name}: {fault.diff}: dies", lambda: seen_in(fault, DIES)))

    def seen_in(fault: cases.Planted, asked: Asked) -> str:
        """The fault of the program with it, in words; empty where what is asked for does not see it."""
        folder = OVERLAYS / fault.name.replace("/", "_")
        packages.overlay(folder, fault.program.package, {fault.file: fault.text})
        try:
            text = runs.with_folder(fault.program.text, folder, fault.program.package)
            seen = runs.fault(pool.run(text, wants=asked.wants))
        except UsageError:
            return ""  # a worker dies of the package with the fault in it as soon as it imports that
        finally:
            shutil.rmtree(folder)
        return str(seen) if asked.sees(seen) else ""

    def shows(fault: cases.Planted) -> bool:
        asked = ORACLES[fault.operator.oracle]

        def alone() -> str:
            seen = runs.fault(pool.run(fault.program.text, wants=asked.wants))
            return str(seen) if seen else ""

        if asked.rule and memory.get(f"{fault.program.key}: {asked.rule}", alone):
            return False
        return bool(memory.get(f"{fault.name}: {fault.diff}", lambda: seen_in(fault, asked))) or dies(fault)

    oracles = given.oracle or [one for one in ORACLES if one != VALUES]
    named = given.operator or [one.name for one in OPERATORS]
    operators = [one for one in OPERATORS if one.oracle in oracles and one.name in named]
    calls = programs.programs(programs.COMPARED if values else programs.CALLS)
    half, seed, limit = given.half, given.seed, given.limit
    found = cases.draw(
        calls,
        half=half,
        seed=seed,
        kernels=kernels,
        shows=shows,
        limit=limit,
        operators=operators,
        share=1.0 if given.operator else cases.OPERATOR_SHARE,
    )
    return (replace(fault, on_gpu=DIES) if dies(fault) else fault for fault in found)


if __name__ == "__main__":
    main()

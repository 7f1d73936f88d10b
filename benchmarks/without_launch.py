"""Programs that compile kernels and launch none: how near to the smallest by hand, in how many tries and seconds.

    python benchmarks/without_launch.py prove           each shows its fault, and the smallest by hand the same one
    python benchmarks/without_launch.py run [NAME ...]  reduce them, each by the command that a user would type
    python benchmarks/without_launch.py table

Programs are in benchmarks/without_launch/. All runs are on the virtual GPU with two lanes. `near` is the moment from
which the best was at most 1.2 times as many tokens as the smallest by hand. Figures:
benchmarks/results/without_launch.json.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomlkit

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from seeding import packages, reducing, scoreboard  # noqa: E402
from suite import Cold, Failing  # noqa: E402

from shrinkray_gpu.events import printed_result  # noqa: E402
from shrinkray_gpu.reduction.size import lines, tokens  # noqa: E402

FOLDER = ROOT / "benchmarks" / "without_launch"
RESULTS = ROOT / "benchmarks" / "results" / "without_launch.json"
ABOUT = "Programs without a launch, reduced on the virtual GPU (sm_90) with two lanes. By benchmarks/without_launch.py."
NEAR = 1.2
ARCH = 90


@dataclass(frozen=True)
class CompileOnly:
    """A program, and how its fault is asked for."""

    name: str
    oracle: str
    looked_at: bool
    """Whether the tool was developed with it in sight."""

    @property
    def failing(self) -> Path:
        return FOLDER / self.name / "failing.py"

    @property
    def smallest(self) -> str:
        return (FOLDER / self.name / "smallest.py").read_text()


def cases() -> list[CompileOnly]:
    told = tomlkit.parse((FOLDER / "cases.toml").read_text()).unwrap()
    return [CompileOnly(name, **one) for name, one in told.items()]


def unproven(case: CompileOnly) -> str:
    """Why the pair proves nothing; empty if both show the same fault."""
    program = Failing(case.failing.parent, case.name, "compile", (case.oracle,), "", 0, tokens(case.smallest))
    cold = Cold(program, python=sys.executable, arch=ARCH)
    try:
        for name, said in (
            ("failing.py", cold.reference(case.failing.read_text())),
            ("smallest.py", cold.judge(case.smallest)),
        ):
            if not said.faults:
                return f"{name}: {said.why}"
    finally:
        cold.close()
    return ""


def reduced(case: CompileOnly, timeout: float) -> dict[str, Any]:
    """What came of one reduction by the command."""
    folder = packages.BUILD.parent / "without_launch" / case.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    program, repro = folder / "failing.py", folder / "repro.py"
    shutil.copyfile(case.failing, program)
    command = [sys.executable, "-m", "shrinkray_gpu", str(program), "--arch", f"sm_{ARCH}", "--oracle", case.oracle]
    command += ["--jobs", "2", "--no-report", "--json", "-o", str(repro)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TRITON_CACHE_DIR": str(folder / "triton")}
    started, spent = time.monotonic(), _cpu()
    code, said, error = reducing.run_command(command, environment, folder, timeout)
    seconds = {"seconds": round(time.monotonic() - started, 1), "cpu": round(_cpu() - spent, 1)}
    row = {"name": case.name, "looked at": case.looked_at, **seconds}
    if code != 0:
        return row | {"refused": (error or said).strip()[-reducing.LONGEST :]}
    told = printed_result(said)
    text = repro.read_text()
    counts = {"lines": [lines(case.failing.read_text()), lines(text), lines(case.smallest)]}
    counts["tokens"] = [tokens(case.failing.read_text()), tokens(text), tokens(case.smallest)]
    near = _near(folder / "failing.shrink" / "journal.jsonl", NEAR * tokens(case.smallest))
    return row | counts | {"tries": told["tries"], "near": near, "lifted": told["lifted"], "same": told["same"]}


def _cpu() -> float:
    """Of all processes that have ended, seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _near(journal: Path, enough: float) -> list[float] | None:
    """Tries and seconds of the search until the best was small enough; None if it never was."""
    tries = 0
    for line in map(json.loads, journal.read_text().splitlines()):
        tries += line.get("event") == "judged"
        if line.get("event") == "accept" and line["size"][1] <= enough:
            return [tries, line["at"]]
    return None


def table(rows: list[dict[str, Any]]) -> str:
    heads = ("tries", "s", "CPU s")
    found = [f"{'program':24} {'lines':>12} {'tokens':>14} {'by hand':>8}" + "".join(f" {each:>6}" for each in heads)]
    found[0] += f"  {'near at':>12}  looked at"
    for row in rows:
        if "refused" in row:
            found.append(f"{row['name']:24} refused: {row['refused']}")
            continue
        (before, after, _), (large, small, hand) = row["lines"], row["tokens"]
        near = "never" if row["near"] is None else f"{row['near'][0]}, {row['near'][1]:.0f} s"
        tries = sum(row["tries"].values()) if isinstance(row["tries"], dict) else row["tries"]
        found.append(
            f"{row['name']:24} {before:>5} to {after:>3} {large:>6} to {small:>4} {hand:>8} {tries:>6} "
            f"{row['seconds']:>6} {row['cpu'] or '-':>6}  {near:>12}  {'yes' if row['looked at'] else 'no'}"
        )
    return "\n".join(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("command", choices=("prove", "run", "table"))
    parser.add_argument("names", nargs="*", help="of programs; default: all")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds a reduction")
    parser.add_argument("--commit", help="names the row; default: the tree's")
    given = parser.parse_args()
    wanted = [one for one in cases() if one.name in (given.names or [one.name])]
    if given.command == "prove":
        for case in wanted:
            print(f"{case.name}: {unproven(case) or 'proven'}", flush=True)
        return
    board = scoreboard.load(RESULTS) | {"about": ABOUT}
    key = {"commit": given.commit or packages.commit()} if given.command == "run" else {}
    row = scoreboard.row_of(board, key)
    for case in wanted if given.command == "run" else ():
        row["faults"] = [one for one in row["faults"] if one["name"] != case.name] + [reduced(case, given.timeout)]
        scoreboard.save(RESULTS, board)
        print(table(row["faults"][-1:]), flush=True)
    print(table(row["faults"]))


if __name__ == "__main__":
    main()

"""Kernels for which this Triton's code is worse than another release's: how small they become, and what stays of it.

    python benchmarks/code_figures.py prove             each regresses, and the smallest by hand does so as well
    python benchmarks/code_figures.py run [NAME ...]    reduce them, each by the command that a user would type
    python benchmarks/code_figures.py table

Programs are in benchmarks/code_figures/; cases.toml says for which architecture one is compiled. Nothing runs.
`in 25 lines` is the second of the search from which on the best had no more. Figures:
benchmarks/results/code_figures.json.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import tomlkit

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from seeding import packages, scoreboard  # noqa: E402

from shrinkray_gpu.reduction.size import lines, tokens  # noqa: E402

FOLDER = ROOT / "benchmarks" / "code_figures"
RESULTS = ROOT / "benchmarks" / "results" / "code_figures.json"
ABOUT = "Kernels that Triton 3.7.1 compiles worse than another release. By benchmarks/code_figures.py."
ENOUGH = 25
_RATIO = re.compile(r", ([\d.]+) times")


def shrink(*words: str, arch: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TRITON_CACHE_DIR": str(folder / "triton")}
    command = [sys.executable, "-m", "shrinkray_gpu", *words, "--arch", arch]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def reduced(name: str, case: dict[str, str], jobs: int, seconds: float) -> dict[str, Any]:
    oracle, source = case["oracle"], FOLDER / case.get("program", name)
    folder = packages.BUILD.parent / "code_figures" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shutil.copyfile(source / "failing.py", folder / "failing.py")
    limits = ("--jobs", str(jobs), "--max-time", f"{seconds:g}", "--no-report")
    began = time.monotonic()
    done = shrink("failing.py", "--oracle", oracle, *limits, arch=case.get("arch", "sm_90"), folder=folder)
    row: dict[str, Any] = {"name": name, "oracle": oracle, "seconds": round(time.monotonic() - began)}
    if done.returncode:
        return row | {"refused": (done.stderr or done.stdout).strip()[-400:]}
    return row | read(source, folder / "failing.shrink")


def read(source: Path, folder: Path) -> dict[str, Any]:
    """What a reduction of the program in `source` left in its folder."""
    told = json.loads((folder / "result.json").read_text())
    smallest = (source / "smallest.py").read_text()
    original, repro = (_RATIO.search(told["code"][which]) for which in ("original", "repro"))
    assert original is not None and repro is not None
    return {
        "lines": [told["before"][0], told["after"][0], lines(smallest)],
        "tokens": [told["before"][1], told["after"][1], tokens(smallest)],
        "code": told["code"],
        "kept": round(float(repro[1]) / float(original[1]), 2),
        "tries": told["tries"],
        "ended": told["ended"],
        "start": round(told["seconds"]["start"]),
        "in 25 lines": _in_few_lines(folder / "journal.jsonl"),
        "controls": told["controls"],
    }


def _in_few_lines(journal: Path) -> float | None:
    for line in map(json.loads, journal.read_text().splitlines()):
        if line.get("event") == "lifting" and line["text"] and lines(line["text"]) <= ENOUGH:
            return 0.0
        if line.get("event") == "accept" and line["size"][0] <= ENOUGH:
            return float(line["at"])
    return None


def table(rows: list[dict[str, Any]]) -> str:
    found = [f"{'program':20} {'lines':>12} {'tokens':>14} {'by hand':>8} {'kept':>5} {'tries':>6} {'s':>5}  ended"]
    for row in rows:
        if "refused" in row:
            found.append(f"{row['name']:20} refused: {row['refused']}")
            continue
        (before, after, _), (large, small, hand) = row["lines"], row["tokens"]
        found.append(
            f"{row['name']:20} {before:>5} to {after:>3} {large:>6} to {small:>4} {hand:>8} {row['kept']:>5} "
            f"{sum(row['tries'].values()):>6} {row['seconds']:>5}  {row['ended']}"
        )
    return "\n".join(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("command", choices=("prove", "run", "table"))
    parser.add_argument("names", nargs="*", help="of programs; default: all")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--max-time", type=float, default=600.0, help="seconds of a search")
    parser.add_argument("--commit", help="names the row; default: the tree's")
    given = parser.parse_args()
    told = tomlkit.parse((FOLDER / "cases.toml").read_text()).unwrap()
    wanted = {name: case for name, case in told.items() if name in (given.names or told)}
    if given.command == "prove":
        for name, case in wanted.items():
            for file in ("failing.py", "smallest.py"):
                aside = packages.BUILD.parent / "code_figures"
                aside.mkdir(parents=True, exist_ok=True)
                path, arch = FOLDER / case.get("program", name) / file, case.get("arch", "sm_90")
                done = shrink(str(path), "--check", "--oracle", case["oracle"], arch=arch, folder=aside)
                print(f"{name}/{file}: {(done.stdout + done.stderr).strip().splitlines()[-1]}", flush=True)
        return
    board = scoreboard.load(RESULTS) | {"about": ABOUT}
    row = scoreboard.row_of(board, {"commit": given.commit or packages.commit()} if given.command == "run" else {})
    for name, case in wanted.items() if given.command == "run" else ():
        one = reduced(name, case, given.jobs, given.max_time)
        row["faults"] = [each for each in row["faults"] if each["name"] != name] + [one]
        scoreboard.save(RESULTS, board)
        print(table(row["faults"][-1:]), flush=True)
    print(table(row["faults"]))


if __name__ == "__main__":
    main()

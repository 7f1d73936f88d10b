"""Faults below the source: programs that are right, and a compiler that is not.

    python benchmarks/below_source.py prove           each fails with the release that is broken, and not with the other
    python benchmarks/below_source.py ask --half A    whose fault `shrink explain` says each is, in the broken release
    python benchmarks/below_source.py ask --later     the same, told of the release that mends it by --triton
    python benchmarks/below_source.py table           true against told, of the last row of each half

Programs and releases are in benchmarks/below_source/. Each defect was told of in public, and a later release mends it.
All runs are on the virtual GPU; each release gets an environment below `build/`, half a gigabyte. `ask` proves a case
first, and goes on where it was stopped. Figures: benchmarks/results/below_source.json, a row a commit and half.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomlkit

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from seeding import packages, reducing, scoreboard, verdicts  # noqa: E402
from seeding.cases import half_of  # noqa: E402

from shrinkray_gpu.corpus import environments  # noqa: E402

FOLDER = ROOT / "benchmarks" / "below_source"
RESULTS = ROOT / "benchmarks" / "results" / "below_source.json"
ABOUT = (
    "Programs that are right, a compiler that is not, and what `shrink explain` says. By benchmarks/below_source.py."
)
NO_FAULT = 3  # the exit code of `shrink explain` where the program shows none


@dataclass(frozen=True)
class BelowCase:
    """A program, and what is wrong with one release of its compiler."""

    name: str
    broken: str
    """`triton 3.5.0`, or `triton 3.5.0, ptxas 12.9.86` where it is not the ptxas that this Triton brings."""
    fixed: str
    arch: str
    true: str
    """Whose the fault is, a word of `verdict.whose`."""
    says: str  # what the broken release says, among other things
    report: str
    wrong: str
    failing: str = ""  # the pass that fails


def cases() -> list[BelowCase]:
    told = tomlkit.parse((FOLDER / "cases.toml").read_text()).unwrap()
    words = {"class": "true", "pass": "failing"}
    return [BelowCase(name, **{words.get(key, key): one[key] for key in one}) for name, one in told.items()]


def explain(case: BelowCase, releases: str, timeout: float, *options: str) -> tuple[int | None, str, str]:
    """Exit code, stdout and stderr of `shrink explain --json` with these releases."""
    wanted = dict(one.split() for one in releases.split(", "))
    python = environments.with_triton(wanted["triton"], python=sys.executable, say=print)
    program = str(FOLDER / f"{case.name}.py")
    command = [sys.executable, "-m", "shrinkray_gpu", "explain", program, "--json"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    if "ptxas" in wanted:
        path = ptxas(wanted["ptxas"])
        environment |= {"TRITON_PTXAS_PATH": path, "TRITON_PTXAS_BLACKWELL_PATH": path}
    command += ["--arch", case.arch, "--python", python, *options]
    return reducing.run_command(command, environment, ROOT, timeout)


def ptxas(release: str) -> str:
    """The path of the ptxas of this release, which is fetched from PyPI once."""
    folder = packages.BUILD.parent / "ptxas" / release
    path = folder / "nvidia" / "cuda_nvcc" / "bin" / "ptxas"
    if not path.exists():
        get = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder)]
        subprocess.run([*get, f"nvidia-cuda-nvcc-cu12=={release}"], check=True)
        shutil.unpack_archive(next(folder.glob("*.whl")), folder, "zip")
        path.chmod(0o755)
    return str(path)


def proven(case: BelowCase, timeout: float, *options: str) -> tuple[dict[str, Any], str, float]:
    """What explain says with the broken release, why this proves nothing (else empty), and the seconds it took."""
    started = time.monotonic()
    code, said, error = explain(case, case.broken, timeout, *options)
    seconds = round(time.monotonic() - started, 1)
    if code != 0:
        return {}, f"{case.broken} shows no fault: exit {code} {error.strip()[-200:]}", seconds
    told = json.loads(said)
    if case.says not in said:
        return told, f"{case.broken} says something else: {told['fault']['text']}", seconds
    code, _, error = explain(case, case.fixed, timeout)
    return told, "" if code == NO_FAULT else f"{case.fixed} mends nothing: exit {code} {error.strip()[-200:]}", seconds


def ask(case: BelowCase, timeout: float, *, later: bool) -> dict[str, Any] | None:
    options = ("--triton", case.fixed.split(", ")[0].removeprefix("triton ")) if later else ()
    told, unproven, seconds = proven(case, timeout, *options)
    if unproven:
        print(f"{case.name}: {unproven}", flush=True)
        return None
    case_says = {"name": case.name, "true": case.true, "pass": case.failing, "broken": case.broken, "fixed": case.fixed}
    said = {key: told["verdict"][key][: reducing.LONGEST] for key in ("place", "named", "why")}
    return {**case_says, "told": told["verdict"]["whose"], **said, "seconds": seconds}


def figures(rows: list[dict[str, Any]]) -> dict[str, Any]:
    passes = [one for one in rows if one["pass"]]
    right = sum(one["named"] == one["pass"] for one in passes)
    return {**verdicts.classes(rows), "names the pass, of those with one": scoreboard.interval(right, len(passes))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("command", choices=("prove", "ask", "table"))
    parser.add_argument("names", nargs="*", help="of cases; default: all")
    parser.add_argument("--half", choices="AB", help="A: to look at; B: for figures")
    parser.add_argument("--later", action="store_true", help="`explain` may ask the release that mends it")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds a run of explain")
    parser.add_argument("--commit", help="names the row; default: the tree's")
    given = parser.parse_args()
    os.environ.setdefault("SHRINK_ENVIRONMENTS", str(packages.BUILD.parent / "environments"))
    named = [one for one in cases() if one.name in (given.names or [one.name])]
    wanted = [one for one in named if given.half in (None, half_of(one.name))]
    board, commit = scoreboard.load(RESULTS) | {"about": ABOUT}, given.commit or packages.commit()
    if given.command == "prove":
        for case in wanted:
            print(f"{case.name}: {proven(case, given.timeout)[1] or 'proven'}", flush=True)
        return
    for half in given.half or "AB":
        key = {"half": half, "later": given.later} | ({"commit": commit} if given.command == "ask" else {})
        row = scoreboard.row_of(board, key)
        for case in wanted if given.command == "ask" else ():
            done = {one["name"] for one in row["faults"]}
            if (
                half_of(case.name) == half
                and case.name not in done
                and (told := ask(case, given.timeout, later=given.later))
            ):
                row["faults"].append(told)
                row["figures"] = figures(row["faults"])
                scoreboard.save(RESULTS, board)
                print(f"{told['true']:14} {told['told']:18} {told['seconds']:5.0f} s  {case.name}", flush=True)
        print(f"half {half}\n{verdicts.confusion(row['faults'])}\n{json.dumps(figures(row['faults']), indent=1)}")


if __name__ == "__main__":
    main()

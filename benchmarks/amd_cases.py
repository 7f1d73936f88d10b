"""Reductions of programs that fail in Triton's AMD backend: tokens, lines and seconds, beside a minimum by hand.

    python benchmarks/amd_cases.py [NAME ...] [--jobs N] [--seconds N] [--triton RELEASE=PYTHON ...]
    python benchmarks/amd_cases.py --matrix 3.5.1,3.6.0,3.7.1,3.8.0,3.9.0

Programs and minima are in benchmarks/amd_cases/; its cases.toml says what fails, in which release, and what mends it.
No GPU is needed. The release that is said to be broken is installed aside, in SHRINK_ENVIRONMENTS. A repro has slipped
if another pass fails, or with other words; if a release that mends the program does not mend the repro (--triton names
interpreters that have them); or if what avoids the program's fault does not avoid that of the repro. Figures:
benchmarks/results/amd_cases.json.

With --matrix, `shrink replay` runs each program and its repro on these releases, and those cases of the corpus that an
AMD architecture shows. Outcomes: benchmarks/results/amd_matrix.json and .md.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import tomlkit

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from shrinkray_gpu.corpus import environments  # noqa: E402
from shrinkray_gpu.events import printed_result  # noqa: E402
from shrinkray_gpu.reduction.size import tokens  # noqa: E402

FOLDER = ROOT / "benchmarks" / "amd_cases"
RESULTS = ROOT / "benchmarks" / "results" / "amd_cases.json"
MATRIX = ROOT / "benchmarks" / "results" / "amd_matrix.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--jobs", default="2")
    parser.add_argument("--seconds", default="90")
    parser.add_argument("--triton", action="append", default=[], metavar="RELEASE=PYTHON")
    parser.add_argument("--matrix", default="", metavar="RELEASES")
    given = parser.parse_args()
    if given.matrix:
        matrix(given.matrix)
        return
    pythons = dict(each.split("=", 1) for each in given.triton)
    known = tomlkit.parse((FOLDER / "cases.toml").read_text()).unwrap()
    found = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in given.names or known:
        found[name] = told = measured(name, known[name], given.jobs, given.seconds, pythons)
        print(f"{name:18} {told}", flush=True)
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")


def measured(name: str, case: dict[str, Any], jobs: str, seconds: str, pythons: dict[str, str]) -> dict[str, Any]:
    """One reduction, and whether its repro has slipped."""
    with tempfile.TemporaryDirectory() as place:
        program = Path(shutil.copy(FOLDER / f"{name}.py", place))
        words = ["--arch", case["arch"], "--oracle", case["says"], "--python", broken(case)]
        began = time.monotonic()
        done = shrink(program, *words, "--jobs", jobs, "--max-time", seconds, "--no-report", "--json")
        took, result = time.monotonic() - began, printed_result(done.stdout)
        if done.returncode:
            return {"ended": done.stderr.strip().splitlines()[-1:], "seconds": round(took, 1)}
        repro, least = Path(result["output"]), FOLDER / f"{name}.minimum.py"
        return {
            "ended": result["ended"],
            "tokens": [tokens(path.read_text()) for path in (program, repro, least)],
            "lines": [len(path.read_text().splitlines()) for path in (program, repro, least)],
            "seconds": {"search": round(result["seconds"]["search"], 1), "all": round(took, 1)},
            "load": round(os.getloadavg()[0], 1),
            "slips": [*slips(repro, case, pythons)],
            "repro": repro.read_text(),
        }


def slips(repro: Path, case: dict[str, Any], pythons: dict[str, str]) -> list[str]:
    """In what the repro does otherwise than the program that it is of."""
    asked = ["--oracle", f"compile:{case['pass']}", "--oracle", case["says"], "--python", broken(case)]
    same = shrink("check", repro, "--arch", case["arch"], *asked).returncode == 0
    found = [] if same else [f"{case['pass']} does not fail so"]
    mended: list[list[str]] = []
    if case["fixed"] in pythons:
        mended.append(["--python", pythons[case["fixed"]]])
    if "=" in case["avoided"] and case["avoided"].isupper():
        mended.append(["--python", broken(case), "--env", case["avoided"]])
    for more in mended:
        if shrink("check", repro, "--arch", case["arch"], "--oracle", case["says"], *more).returncode != 3:
            found.append(f"it is not mended by {' '.join(more)}")
    return found


def matrix(releases: str) -> None:
    """What each release makes of the programs, of their repros, and of the corpus."""
    known = tomlkit.parse((FOLDER / "cases.toml").read_text()).unwrap()
    repros = {name: row["repro"] for name, row in json.loads(RESULTS.read_text()).items()}
    rows: dict[str, dict[str, str]] = {}
    with tempfile.TemporaryDirectory() as place:
        for name, case in known.items():
            as_case(Path(place, case["arch"], name), case, (FOLDER / f"{name}.py").read_text())
            as_case(Path(place, case["arch"], f"{name}_repro"), case, repros[name])
        for folder in [*sorted(Path(place).iterdir()), ROOT / "corpus"]:
            arch = folder.name if folder != ROOT / "corpus" else "gfx942"
            said = shrink("replay", folder, "--arch", arch, "--triton", releases, "--json").stdout
            for column in json.loads(said).values():
                for name, outcome in column["cases"].items():
                    if outcome["status"] != "cannot run here":
                        rows.setdefault(f"{name}, {arch}", {})[column["versions"]["triton"]] = outcome["status"]
    MATRIX.write_text(json.dumps(rows, indent=1) + "\n")
    names = releases.split(",")
    lines = ["| case | " + " | ".join(names) + " |", "| --- " * (len(names) + 1) + "|"]
    lines += [f"| {case} | " + " | ".join(row.get(name, "") for name in names) + " |" for case, row in rows.items()]
    MATRIX.with_suffix(".md").write_text("\n".join(lines) + "\n")


def as_case(folder: Path, case: dict[str, Any], text: str) -> None:
    """A program as a case of a corpus."""
    folder.mkdir(parents=True)
    (folder / f"repro_{folder.name}.py").write_text(text)
    told = {
        "title": folder.name,
        "class": "compiler crash",
        "mechanism": case["report"],
        "oracle": [f"compile:{case['pass']}", case["says"]],
        "needs": {"architecture": case["arch"]},
    }
    (folder / "case.toml").write_text(tomlkit.dumps(told))


def broken(case: dict[str, Any]) -> str:
    """An interpreter with the Triton on which the program fails."""
    return environments.with_triton(case["broken"], python=sys.executable)


def shrink(*words: str | Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "shrinkray_gpu", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


if __name__ == "__main__":
    main()

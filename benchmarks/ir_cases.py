"""Reductions of Triton's IR: operations, seconds and tries, beside the smallest that was written by hand.

    python benchmarks/ir_cases.py [NAME ...] [--seeds N]     with names, the rows of the others stay
    python benchmarks/ir_cases.py --corpus            the IR of each case of the corpus that fails in a pass
    python benchmarks/ir_cases.py --matrix 3.5.1,3.6.0    what these releases make of results and of minima

Programs and minima are in benchmarks/ir_cases/; each minimum was committed before a reducer ran on its program. A case
runs N times, each time with another order of the tries, and the worst of its runs counts. No GPU is needed. Figures:
benchmarks/results/ir_cases.json.

A case of the corpus is run on the virtual GPU, and the module of the stage that fails is reduced: what a reduction of
its Python program ends with, without that reduction. Figures: benchmarks/results/ir_corpus.json.

The matrix (benchmarks/results/ir_matrix.json and .md) reduces each program once, and says `changed fault` where the
result fails otherwise than on the release of its program, and `format changed` where a release does not parse it or has
no such pass. Where the minimum does something else there, that stands behind it: a release that goes through the
minimum must go through the result, or that fails for a reason of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import tomlkit

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from shrinkray_gpu.attachment.pass_reproducer import pass_reproducers  # noqa: E402
from shrinkray_gpu.corpus import environments  # noqa: E402
from shrinkray_gpu.errors import ShrinkError  # noqa: E402
from shrinkray_gpu.intermediate.compiler import IrCompiler  # noqa: E402
from shrinkray_gpu.intermediate.generic_text import read  # noqa: E402
from shrinkray_gpu.intermediate.ir_fault import IrFault  # noqa: E402
from shrinkray_gpu.intermediate.ir_file import read_ir  # noqa: E402
from shrinkray_gpu.intermediate.ir_replay import replay_ir  # noqa: E402
from shrinkray_gpu.intermediate.model import count  # noqa: E402
from shrinkray_gpu.intermediate.options import IrOptions  # noqa: E402
from shrinkray_gpu.intermediate.reduce_ir import check_ir, reduce_ir  # noqa: E402
from shrinkray_gpu.job import asked  # noqa: E402
from shrinkray_gpu.job.ready import user_program  # noqa: E402
from shrinkray_gpu.options import Options  # noqa: E402
from shrinkray_gpu.start import Start  # noqa: E402

FOLDER = ROOT / "benchmarks" / "ir_cases"
RESULTS = ROOT / "benchmarks" / "results" / "ir_cases.json"
MATRIX = ROOT / "benchmarks" / "results" / "ir_matrix.json"
_ARCH = re.compile(r"--arch (\w+)")
_TRITON = re.compile(r"--triton ([\d.]+)")


def cases() -> list[Path]:
    return sorted(path for path in FOLDER.iterdir() if ".minimum" not in path.name and path.suffix != ".md")


def options(path: Path, seed: int = 0) -> IrOptions:
    """What the head of a program asks for. A release of Triton is installed aside, in `SHRINK_ENVIRONMENTS`."""
    head = path.read_text().partition("\n")[0]
    arch, release = _ARCH.search(head), _TRITON.search(head)
    python = environments.with_triton(release[1], python=sys.executable) if release else sys.executable
    return IrOptions(python=python, arch=arch[1] if arch else "", seed=seed, max_time=120)


def by_hand(path: Path) -> tuple[int, bool]:
    """Operations of the minimum that was written by hand, and whether it shows the fault of its program."""
    minimum = FOLDER / f"{path.stem}.minimum.mlir"
    asked = options(path)
    with IrCompiler(asked.python, os.environ, "") as compiler:
        size = count(read(compiler.normal(read_ir(minimum).text).texts["generic"]))
    return size, check_ir(minimum, replace(asked, arch="")) == check_ir(path, asked)


def measured(path: Path, seeds: int) -> dict[str, Any]:
    hand, same = by_hand(path)
    runs = [reduce_ir(path, options(path, seed)) for seed in range(seeds)]
    return {
        "case": path.stem,
        "pass": runs[0].fault.name,
        "triton": runs[0].release,
        "before": runs[0].before,
        "after": max(run.after for run in runs),
        "by hand": hand,
        "hand shows it": same,
        "seconds": round(max(run.seconds for run in runs), 1),
        "tries": max(run.tally.tries for run in runs),
        "parse": round(min(run.tally.parsed / max(run.tally.tries, 1) for run in runs), 3),
        "steps": {name: taken for name, (_, _, taken) in runs[0].tally.by_family.items() if taken},
    }


def reproducer(path: Path, oracle: list[str], arch: str) -> str:
    """The module that the failing stage of a program began with; empty where the compiler leaves none."""
    asking = asked.options_of(Options(), {"oracle": tuple(oracle), "arch": arch, "python": sys.executable})
    program = asked.program_of(path, asking)
    chosen, asking = asked.oracle_of(asking)
    with tempfile.TemporaryDirectory() as folder:
        setup = asked.setup_of(path, Path(folder), asking)
        plan = user_program(path, program, asking, chosen, setup, lambda text: None).plan(Start(program))
        try:
            return next(iter(pass_reproducers(program.text, plan.pool)[0].values()), "")
        finally:
            plan.close()


def of_corpus(folder: Path) -> dict[str, Any]:
    """One row; `why` where there is no IR that shows the fault."""
    case = tomlkit.parse((folder / "case.toml").read_text()).unwrap()
    arch = case["needs"].get("architecture", "sm_90").partition(",")[0]
    row: dict[str, Any] = {"case": folder.name}
    try:
        text = reproducer(next(folder.glob("repro*.py")), case["oracle"], arch)
        if not text:
            return row | {"why": "the fault comes before or behind the passes"}
        with tempfile.TemporaryDirectory() as aside:
            path = Path(aside, "reproducer.mlir")
            path.write_text(text)
            told = reduce_ir(path, IrOptions(python=sys.executable, arch=arch, max_time=60)).to_json()
            return row | {name: value for name, value in told.items() if name != "text"}
    except ShrinkError as error:
        return row | {"why": str(error).partition(". ")[0]}


def corpus() -> None:
    rows = []
    for path in sorted((ROOT / "corpus").glob("*/case.toml")):
        if 'phase = "compile"' in path.read_text():
            rows.append(of_corpus(path.parent))
            print(json.dumps(rows[-1]), flush=True)
    record(ROOT / "benchmarks" / "results" / "ir_corpus.json", {"rows": rows})


def outcome(path: Path, own: IrFault, release: str) -> str:
    """What a release makes of a file whose fault is `own`."""
    seen = replay_ir(path, IrOptions(python=environments.with_triton(release, python=sys.executable)))
    return "changed fault" if seen.fault not in (None, own) else seen.outcome


def matrix(releases: list[str]) -> None:
    """What each release makes of each result, and of the minimum where that is something else."""
    rows: dict[str, dict[str, str]] = {}
    for path in cases():
        minimum = FOLDER / f"{path.stem}.minimum.mlir"
        own = check_ir(minimum, replace(options(path), arch=""))
        result = reduce_ir(path, options(path))
        with tempfile.TemporaryDirectory() as aside:
            reduced = Path(aside, "result.mlir")
            reduced.write_text(result.text)
            for release in releases:
                ours, hand = outcome(reduced, result.fault, release), outcome(minimum, own, release)
                rows.setdefault(path.stem, {})[release] = ours if ours == hand else f"{ours} (minimum: {hand})"
        print(path.stem, rows[path.stem], flush=True)
    record(MATRIX, {"rows": rows})
    lines = ["| case | " + " | ".join(releases) + " |", "| --- " * (len(releases) + 1) + "|"]
    lines += [f"| {case} | " + " | ".join(row.values()) + " |" for case, row in rows.items()]
    MATRIX.with_suffix(".md").write_text("\n".join(lines) + "\n")


def stamp() -> dict[str, str]:
    """Of which code figures are, and of when."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    return {"commit": commit.stdout.strip(), "date": time.strftime("%Y-%m-%d")}


def record(path: Path, told: dict[str, Any]) -> None:
    about = "Reductions of Triton's IR. By benchmarks/ir_cases.py."
    path.write_text(json.dumps({"about": about, **stamp(), **told}, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--corpus", action="store_true")
    parser.add_argument("--matrix", default="", metavar="RELEASES")
    given = parser.parse_args()
    if given.matrix:
        matrix(given.matrix.split(","))
        return
    if given.corpus:
        corpus()
        return
    rows = []
    for path in cases():
        if not given.names or path.stem in given.names:
            rows.append(measured(path, given.seeds))
            print(json.dumps(rows[-1]), flush=True)
    print(f"median {statistics.median(row['after'] for row in rows)} operations, "
          f"{statistics.median(row['by hand'] for row in rows)} by hand")  # fmt: skip
    told: dict[str, Any] = {"seeds": given.seeds, "rows": rows}
    if given.names:
        told = json.loads(RESULTS.read_text())
        new = {row["case"]: row | {"seeds": given.seeds} | stamp() for row in rows}
        found = {row["case"]: row for row in told["rows"]} | new
        told["rows"] = [found[case] for case in sorted(found)]
    record(RESULTS, told)


if __name__ == "__main__":
    main()

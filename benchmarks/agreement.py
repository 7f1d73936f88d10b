"""Whether the evaluator of Triton's IR and a GPU agree about candidates: is an access outside its tensor, does it die?

    python benchmarks/agreement.py draw --seed 7 --each 70 --json build/candidates.json      without a GPU
    python benchmarks/agreement.py gpu --json build/candidates.json                          adds what the driver says
    python benchmarks/agreement.py table --json build/candidates.json
    python benchmarks/agreement.py cost --json build/candidates.json                         what the evaluator costs

Corpus cases are reduced on the virtual GPU, and of the candidates that launch something so many of each case are drawn.
They contradict each other where a launch is proved to be inside and the GPU faults. The other way round nothing
follows: behind a tensor there may be other memory, and then an access outside goes unnoticed.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from seeding import runs  # noqa: E402

from shrinkray_gpu.job.reduce import reduce  # noqa: E402
from shrinkray_gpu.options import Options  # noqa: E402
from shrinkray_gpu.runner.pool import Pool  # noqa: E402
from shrinkray_gpu.runner.run import Run  # noqa: E402

CORPUS = Path(__file__).resolve().parents[1] / "corpus"
CASES = ("missing_mask", "wrong_stride", "int32_offset_overflow")
WANTS = ("static:bounds", "static:assert", "static:div0")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("command", choices=("draw", "gpu", "table", "cost"))
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--each", type=int, default=70, help="candidates of each case")
    parser.add_argument("--seconds", type=float, default=45, help="of search in each case")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    if given.command == "draw":
        rows = _drawn(given)
    else:
        rows = json.loads(given.json.read_text())
    if given.command == "gpu":
        with runs.lanes(runs.Machine(None), [], given.jobs) as pool, ThreadPoolExecutor(given.jobs) as threads:
            rows = list(threads.map(lambda row: {**row, "gpu": _driver(pool.run(row["text"], fresh=True))}, rows))
    if given.command in ("table", "cost"):
        print(_table(rows) if given.command == "table" else _cost(rows))
    else:
        given.json.write_text(json.dumps(rows, indent=1))


def _drawn(given: argparse.Namespace) -> list[dict[str, Any]]:
    chance, rows = random.Random(given.seed), []
    for case in CASES:
        texts = sorted(_candidates(case, given))
        rows += [{"case": case, "text": text} for text in chance.sample(texts, min(given.each, len(texts)))]
    with runs.lanes(runs.Machine(90), [], given.jobs) as pool, ThreadPoolExecutor(given.jobs) as threads:
        return list(threads.map(lambda row: {**row, **_followed(pool.run(row["text"], wants=WANTS))}, rows))


def _candidates(case: str, given: argparse.Namespace) -> set[str]:
    """The texts that were run and launched something while the case was reduced."""
    seen: set[str] = set()
    run = Pool.run

    def noting(pool: Pool, candidate: Any, **settings: Any) -> Run:
        ran = run(pool, candidate, **settings)
        if ran.launches and not ran.trouble and not settings.get("values"):  # those are no candidates
            seen.add(candidate if isinstance(candidate, str) else candidate.source)
        return ran

    with tempfile.TemporaryDirectory() as folder, mock.patch.object(Pool, "run", noting):
        program = Path(shutil.copy(CORPUS / case / "failing.py", folder))
        asked = Options(
            oracle=("illegal memory access",),
            arch=90,
            cwd=Path(folder),
            jobs=given.jobs,
            report=False,
            max_time=given.seconds,
        )
        reduce(program, asked)
    return seen


def _followed(run: Run) -> dict[str, Any]:
    return {"evaluator": _told(run), "seconds": round(sum(launch.evaluating for launch in run.launches), 5)}


def _told(run: Run) -> str:
    if any(launch.causes for launch in run.launches):
        return "outside"
    unknown = any(launch.unfollowed or launch.undecided for launch in run.launches)
    return "unknown" if unknown else "inside" if run.launches else "no launch"


def _driver(run: Run) -> str:
    if run.trouble or run.timed_out:
        return "unknown"
    return f"error {run.driver_error}" if run.driver_error else "no error"


def _table(rows: list[dict[str, Any]]) -> str:
    counted = Counter((row["case"], row["evaluator"], row.get("gpu", "not run")) for row in rows)
    lines = [f"| {' | '.join(key)} | {n} |" for key, n in sorted(counted.items())]
    against = sum(row["evaluator"] == "inside" and row.get("gpu", "").startswith("error") for row in rows)
    return "\n".join(
        ["| case | evaluator | GPU | candidates |", "| --- | --- | --- | --- |", *lines, f"\ncontradictions: {against}"]
    )


def _cost(rows: list[dict[str, Any]]) -> str:
    """Processor milliseconds a candidate: by case the median, the 95th percentile and the most."""
    lines = []
    for case in (*dict.fromkeys(row["case"] for row in rows), "all"):
        costs = sorted(1000 * row["seconds"] for row in rows if case in (row["case"], "all"))
        told = " | ".join(f"{cost:.1f}" for cost in (costs[len(costs) // 2], costs[len(costs) * 95 // 100], costs[-1]))
        lines.append(f"| {case} | {len(costs)} | {told} |")
    return "\n".join(["| case | candidates | median, ms | p95 | most |", "| --- | --- | --- | --- | --- |", *lines])


if __name__ == "__main__":
    main()

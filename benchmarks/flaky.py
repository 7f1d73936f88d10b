"""A program that faults in some processes only, against its twin that always does: minimum, rate, and price in tries.

    python benchmarks/flaky.py                       ten runs at 30 %, without a GPU
    python benchmarks/flaky.py --chance 0.5 --runs 3 --short

The fault is one of a stand-in for a device, in a module beside the script: see tests/e2e/flaky.py. The rate of each
result is measured anew, in `--after` plain processes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from shrinkray_gpu.job.reduce import reduce  # noqa: E402
from shrinkray_gpu.options import Options  # noqa: E402
from shrinkray_gpu.oracle.statistics import CONFIDENCE, Rate  # noqa: E402
from tests.e2e.flaky import ORACLE, SCRIPT, SHORT, lay_out  # noqa: E402


def reduced(folder: Path, chance: float, text: str, options: argparse.Namespace, seed: int) -> dict[str, Any]:
    path = lay_out(folder, chance, text)
    started = time.monotonic()
    given = {"jobs": options.jobs, "seed": seed, "confidence": options.confidence}
    chosen = Options(oracle=(ORACLE,), cwd=folder, report=False, **given)
    result = reduce(path, chosen)
    tries, seconds = sum(result.tries.values()), time.monotonic() - started
    return {"text": result.text, "tokens": result.after[1], "tries": tries, "seconds": round(seconds, 1)}


def rate(script: Path, runs: int) -> Rate:
    """How often the result faults as its user runs it."""

    def faults(_: int) -> bool:
        done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, cwd=script.parent)
        return done.returncode == 1 and "misaligned address" in done.stderr.splitlines()[-1]

    with ThreadPoolExecutor(os.cpu_count() or 1) as threads:
        return Rate(sum(threads.map(faults, range(runs))), runs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chance", type=float, default=0.3)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--after", type=int, default=200, help="plain runs of each result")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--confidence", type=float, default=CONFIDENCE)
    parser.add_argument("--short", action="store_true", help="the shorter script, of the test")
    parser.add_argument("--json", type=Path, help="write everything there")
    options = parser.parse_args()
    text = SHORT if options.short else SCRIPT
    with tempfile.TemporaryDirectory() as scratch:
        twin = reduced(Path(scratch) / "twin", 1.0, text, options, 0)
        print(f"twin: {twin['tokens']} tokens, {twin['tries']} tries, {twin['seconds']} s\n{twin['text']}", flush=True)
        found: list[dict[str, Any]] = []
        for run in range(options.runs):
            folder = Path(scratch) / f"flaky{run}"
            one = reduced(folder, options.chance, text, options, run)
            after = rate(folder / "repro_failing.py", options.after)
            one.update(same=one["text"] == twin["text"], rate=after.estimate, price=one["tries"] / twin["tries"])
            found.append(one)
            same = "the same minimum" if one["same"] else "ANOTHER minimum:\n" + one["text"]
            print(
                f"run {run}: {same}; {after}; {one['tries']} tries, {one['price']:.1f} times the twin's, "
                f"{one['seconds']} s",
                flush=True,
            )
    if options.json:
        options.json.write_text(json.dumps({"twin": twin, "runs": found}, indent=1))
    prices = sorted(one["price"] for one in found)
    print(
        f"{sum(one['same'] for one in found)} of {len(found)} runs come to the twin's minimum; "
        f"lowest rate {100 * min(one['rate'] for one in found):.0f} %; "
        f"median price {prices[len(prices) // 2]:.1f} times the twin's tries"
    )


if __name__ == "__main__":
    main()

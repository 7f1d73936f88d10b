"""`shrink triage` on suites of failing tests drawn from seeds, on the virtual GPU: what is merged, what is split.

    python benchmarks/triage_suites.py show SEED FOLDER [--tests 40]      write the suite
    python benchmarks/triage_suites.py run SEED ... [--tests 40] [--max-time 60]
    python benchmarks/triage_suites.py table

Suites are made by benchmarks/triaging/. The truth is the generator's: which mistake each test meets. A cluster with
tests of two causes is *merged*; a cause in two clusters is *split*. Tests that were not seen again are in no cluster
and count for neither. Figures: benchmarks/results/triage_suites.json.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from triaging.suite import MACHINE, MOST, Suite, draw_suite  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results" / "triage_suites.json"


def measured(seed: int, tests: int, causes: int, seconds: float, python: str, *, reduce: bool) -> dict[str, Any]:
    """One suite, triaged by the command that a user would type."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        suite = draw_suite(seed, folder, tests, causes)
        words = ["triage", "--json", "--arch", "sm_90", "--python", python, "--max-time", f"{seconds:g}"]
        words += ["--no-reduce"] * (not reduce) + ["--", "pytest", "tests"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        began = time.monotonic()
        command = [sys.executable, "-m", "shrinkray_gpu", *words]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        took = time.monotonic() - began
        if done.returncode:
            raise SystemExit(f"seed {seed}: exit code {done.returncode}\n{done.stderr}")
        told = json.loads(done.stdout)
    given = {"seed": seed, "tests": tests, "max_time": seconds if reduce else 0}
    return {**given, **score(suite, told), "seconds": round(took), "cores": os.cpu_count()}


def score(suite: Suite, told: dict[str, Any]) -> dict[str, Any]:
    """What the triage says beside the truth."""
    clusters = {each["name"]: [member["name"] for member in each["members"]] for each in told["clusters"]}
    causes = {name: sorted({suite.truth[node] for node in nodes}) for name, nodes in clusters.items()}
    where: defaultdict[str, list[str]] = defaultdict(list)
    for name, found in causes.items():
        for cause in found:
            where[cause].append(name)
    machine = {each["name"] for each in told["machine"]}
    reduced = [each for each in told["clusters"] if each["state"] == "reduced"]
    members = [member for each in reduced for member in each["members"]]
    messages = {cause: sorted({m for n in names for m in _messages(told, n)}) for cause, names in where.items()}
    return {
        "causes": len(set(suite.truth.values())),
        "clusters": len(clusters) + bool(machine),
        "merged": {name: found for name, found in causes.items() if len(found) > 1},
        "split": {cause: len(names) for cause, names in where.items() if len(names) > 1},
        "lost": sorted(set(suite.truth.values()) - set(where) - ({MACHINE} if machine else set())),
        "machine_right": machine == {node for node, cause in suite.truth.items() if cause == MACHINE},
        "flaky": len(suite.flaky),
        "not_seen_again": [each["name"] in suite.flaky for each in told["not_seen_again"]],
        "most_messages_of_a_cause": max(map(len, messages.values()), default=0),
        "causes_of_the_commonest_message": _sharing(messages),
        "repros": len(reduced),
        "not_reduced": {
            each["name"]: f"{each['state']}: {each['why']}" for each in told["clusters"] if each not in reduced
        },
        "lines": [each["reduction"]["lines"] for each in reduced],
        "explained": sum(member.get("explained", False) for member in members),
        "explainable": len(members),
    }


def _messages(told: dict[str, Any], name: str) -> list[str]:
    return next(each["messages"] for each in told["clusters"] if each["name"] == name)


def _sharing(messages: dict[str, list[str]]) -> int:
    every = [message for found in messages.values() for message in found]
    return max((every.count(each) for each in every), default=0)


def table(rows: list[dict[str, Any]]) -> str:
    head = (
        "| seed | tests | causes | clusters | merged | split | not seen again | repros | members explained | minutes |"
    )
    lines = [head, "| " + " | ".join(["---"] * 10) + " |"]
    for row in rows:
        counts = [
            f"seed {row['seed']}",
            row["tests"],
            row["causes"],
            row["clusters"],
            len(row["merged"]),
            len(row["split"]),
        ]
        rest = [len(row["not_seen_again"]), row["repros"], f"{row['explained']} of {row['explainable']}"]
        lines.append("| " + " | ".join(map(str, [*counts, *rest, f"{row['seconds'] / 60:.1f}"])) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["show", "run", "table"])
    parser.add_argument("words", nargs="*")
    parser.add_argument("--tests", type=int, default=40)
    parser.add_argument("--causes", type=int, default=MOST, help="in the program, beside the machine's")
    parser.add_argument("--max-time", type=float, default=60.0)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--no-reduce", action="store_true")
    parser.add_argument("--dry", action="store_true", help="print, and leave the results file as it is")
    given = parser.parse_args()
    rows = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    if given.what == "show":
        suite = draw_suite(int(given.words[0]), Path(given.words[1]), given.tests, given.causes)
        print(json.dumps(suite.truth, indent=1))
    elif given.what == "run":
        for seed in map(int, given.words):
            reduce = not given.no_reduce
            row = measured(seed, given.tests, given.causes, given.max_time, given.python, reduce=reduce)
            print(json.dumps(row, indent=1))
            rows = [each for each in rows if (each["seed"], each["tests"]) != (seed, given.tests)] + [row]
            if not given.dry:
                RESULTS.write_text(json.dumps(rows, indent=1) + "\n")
    else:
        print(table(rows))


if __name__ == "__main__":
    main()

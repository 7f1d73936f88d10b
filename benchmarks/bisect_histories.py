"""Simulated histories, searched for the commit at which a fault began: how often it is right, and in how many runs.

    python benchmarks/bisect_histories.py                                two minutes
    python benchmarks/bisect_histories.py --confidence 0.95 0.995 0.999 --json benchmarks/results/bisect_histories.json

Each history has 1,024 commits. The first is good, the last is bad, and the fault begins at one drawn at random. A run
of a bad commit shows the fault at the rate of the row. Of all runs 5 % show another fault, and 10 % of the commits do
not build. Nothing of this is told to the search.

The bound: which of the N candidates it is takes log2 N bits, less what the commits that do not build hide of it (the
logarithm of the size of the set that no run can part). Who may be wrong with probability d needs (1 - d) of these bits,
less h(d), the entropy of being wrong (Fano). A run tells at most the capacity of its channel, for a fault of rate p
that no good commit shows log2(1 + p (1 - p)^((1 - p) / p)) bits, and 0.95 of that as 5 % of the runs tell nothing. So
no search, not even one that knows the rate and what builds, needs fewer runs on average than the quotient.

"Runs" are all runs, those at both ends too. Attempts to build in vain are counted apart.

    python benchmarks/bisect_histories.py --releases 8                   two minutes

searches short histories, as of releases, with the fault at each position alike often. There the priors are tried: that
of a fault of which chance is known to have a part, and that of one which most likely shows in every run (`--arch`).
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from shrinkray_gpu.corpus.first_bad import ALWAYS, SURE, FirstBad  # noqa: E402
from shrinkray_gpu.oracle import Answer  # noqa: E402
from shrinkray_gpu.questions.bisect.bisect import FIRST_RUN  # noqa: E402

COMMITS = 1024
FLAKES = 0.05
UNBUILDABLE = 0.1
HISTORIES = {1.0: 600, 0.5: 400, 0.2: 200, 0.05: 60}
"""By rate of the fault; a history of a rare fault takes longest."""
MOST_RUNS = 20_000


@dataclass(frozen=True)
class SearchedHistory:
    right: bool
    """The set named is the smallest that the commit can be told from."""
    named: bool
    """Whether the confidence was reached."""
    innocent: float
    """At the end, the highest posterior of a set without the commit."""
    runs: int
    vain: int
    """Commits that did not build."""
    hidden: float
    """Bits that no run can tell."""


def searched(rng: random.Random, rate: float, confidence: float) -> SearchedHistory:
    last = COMMITS - 1
    first = rng.randrange(1, COMMITS)
    broken = {commit for commit in range(1, last) if rng.random() < UNBUILDABLE}
    search, runs, vain = FirstBad(last, confidence=confidence), 0, 0
    while runs < MOST_RUNS and (commit := search.choice()) is not None:
        if commit in broken:
            search.cannot(commit)
            vain += 1
            continue
        runs += 1
        if rng.random() < FLAKES:
            search.add(commit, Answer.UNKNOWN)
        else:
            search.add(commit, Answer.FAULTS if commit >= first and rng.random() < rate else Answer.PASSES)
    sets, low, high = search.suspects(), first, first
    while low - 1 in broken:
        low -= 1
    while high in broken:
        high += 1
    innocent = max((each.probability for each in sets if not each.first <= first <= each.last), default=0.0)
    found = search.found()
    right = found is not None and (found.first, found.last) == (low, high)
    return SearchedHistory(right, found is not None, innocent, runs, vain, math.log2(high - low + 1))


def entropy(chance: float) -> float:
    return -sum(each * math.log2(each) for each in (chance, 1 - chance) if each > 0)


def capacity(rate: float) -> float:
    """Bits that a run tells at most."""
    whole = 1.0 if rate == 1 else math.log2(1 + rate * (1 - rate) ** ((1 - rate) / rate))
    return (1 - FLAKES) * whole


def row(rate: float, histories: int, confidence: float, seed: int) -> dict[str, Any]:
    rng, started = random.Random(f"{seed} {rate} {confidence}"), time.monotonic()
    found = [searched(rng, rate, confidence) for _ in range(histories)]
    bits = math.log2(COMMITS - 1) - statistics.mean(each.hidden for each in found)
    bound = (confidence * bits - entropy(confidence)) / capacity(rate)
    runs = statistics.mean(each.runs for each in found)
    return {
        "rate": rate,
        "confidence": confidence,
        "histories": histories,
        "right": sum(each.right for each in found),
        "another named": sum(each.named and not each.right for each in found),
        "not found": sum(not each.named for each in found),
        "innocent above 0.5": sum(each.innocent > 0.5 for each in found),
        "runs": round(runs, 1),
        "most runs": max(each.runs for each in found),
        "builds in vain": round(statistics.mean(each.vain for each in found), 1),
        "bound": round(bound, 1),
        "runs by bound": round(runs / bound, 2),
        "seconds": round(time.monotonic() - started, 1),
    }


def releases_row(versions: int, rate: float, always: float, each: int, seed: int) -> dict[str, Any]:
    """Searches of a short history, as `shrink bisect` makes them with its usual confidence."""
    rng = random.Random(f"{seed} {versions} {rate} {always}")
    wrong, runs = dict.fromkeys(range(1, versions), 0), 0
    for first in [*wrong] * each:
        search = FirstBad(versions - 1, always=always)
        while (version := search.choice(FIRST_RUN)) is not None:
            runs += 1
            if rng.random() < FLAKES:
                search.add(version, Answer.UNKNOWN)
            else:
                search.add(version, Answer.FAULTS if version >= first and rng.random() < rate else Answer.PASSES)
        found = search.found()
        wrong[first] += found is not None and found.first != first
    return {
        "versions": versions,
        "rate": rate,
        "prior of a fault in every run": always,
        "histories": each * len(wrong),
        "wrong": sum(wrong.values()),
        "most wrong at one position": f"{max(wrong.values())} of {each}",
        "runs": round(runs / each / len(wrong), 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--confidence", type=float, nargs="*", default=[0.995])
    parser.add_argument("--share", type=float, default=1.0, help="of the usual number of histories")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--releases", type=int, metavar="N", help="short histories of N versions instead")
    parser.add_argument("--json", type=Path, help="write the rows there")
    given = parser.parse_args()
    rows = []
    if given.releases:
        for always in (ALWAYS, SURE):
            for rate in (1.0, 0.9, 0.7, 0.5, 0.2):
                rows.append(releases_row(given.releases, rate, always, round(200 * given.share), given.seed))
                print(", ".join(f"{name} {value}" for name, value in rows[-1].items()), flush=True)
        given.confidence = []
    for confidence in given.confidence:
        for rate, histories in HISTORIES.items():
            rows.append(row(rate, max(1, round(histories * given.share)), confidence, given.seed))
            print(", ".join(f"{name} {value}" for name, value in rows[-1].items()), flush=True)
    if given.json:
        given.json.write_text(
            json.dumps(
                {"commits": COMMITS, "flakes": FLAKES, "unbuildable": UNBUILDABLE, "seed": given.seed, "rows": rows},
                indent=1,
            )
            + "\n"
        )


if __name__ == "__main__":
    main()

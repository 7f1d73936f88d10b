"""What a replay would take on many hosts: a simulation, and no measurement of a cluster.

    python -m benchmarks.many_hosts corpus/replayed/virtual.json --overhead 0.007 --opening 10

Each cell takes one of the times that a recorded replay has, drawn with a seed. A host takes the next cell as soon as it
is free, as Ray hands out tasks of one kind. The driver hands out one after the other, `--overhead` seconds each. A host
opens lanes for a place, which takes `--opening` seconds, and keeps those of the last two. Nothing is lost, and the
network takes no time: both would add to it.
"""

from __future__ import annotations

import argparse
import heapq
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shrinkray_gpu.cells.ray_worker import OPEN_PLACES

HOSTS = (1, 10, 100, 1000)


@dataclass(order=True)
class Host:
    free: float
    number: int
    places: list[str] = field(default_factory=list, compare=False)

    def take(self, place: str, seconds: float, now: float, opening: float) -> None:
        """Run a cell, which was handed out at `now`."""
        opens = place not in self.places
        self.places = [each for each in self.places if each != place][-OPEN_PLACES + 1 :] + [place]
        self.free = max(self.free, now) + seconds + opening * opens


def makespan(cells: Sequence[tuple[str, float]], hosts: int, overhead: float, opening: float) -> float:
    """Seconds until the last cell (its place, its seconds) is done."""
    free = [Host(0.0, number) for number in range(hosts)]
    end = 0.0
    for number, (place, seconds) in enumerate(cells, 1):
        host = heapq.heappop(free)
        host.take(place, seconds, number * overhead, opening)
        end = max(end, host.free)
        heapq.heappush(free, host)
    return end


def drawn(recorded: dict[str, Any], count: int, seed: int) -> list[tuple[str, float]]:
    """So many cells, those of one place after those of the other, as a replay lists them."""
    chance, places = random.Random(seed), list(recorded)
    times = {
        place: [case["seconds"] for case in recorded[place]["cases"].values() if case["seconds"] > 0]
        for place in places
    }
    return [(place, chance.choice(times[place])) for place in places for _ in range(count // len(places))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recorded", type=Path)
    parser.add_argument("--cells", type=int, default=30_000)
    parser.add_argument("--overhead", type=float, required=True, metavar="S", help="of the driver, for each cell")
    parser.add_argument("--opening", type=float, required=True, metavar="S", help="lanes of a place")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    cells = drawn(json.loads(asked.recorded.read_text()), asked.cells, asked.seed)
    alone = makespan(cells, 1, asked.overhead, asked.opening)
    rows = []
    for hosts in HOSTS:
        seconds = makespan(cells, hosts, asked.overhead, asked.opening)
        rows.append({"hosts": hosts, "seconds": round(seconds, 1), "times faster": round(alone / seconds, 1)})
    told = {"simulation": True, "cells": len(cells), "of": str(asked.recorded), "overhead": asked.overhead}
    print(json.dumps({**told, "opening": asked.opening, "seed": asked.seed, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()

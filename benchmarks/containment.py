"""What the fence costs: candidates a second with it and without it, in turn, in one run.

    python benchmarks/containment.py --pairs 60 --json build/containment.json

Each pair is one candidate in the fence and the same one outside of it. Which comes first changes from pair to pair, so
that what else the machine does befalls both alike. Where it has much else to do, look at the fastest tenth.

`kernel` is a program that Triton compiles for the virtual GPU, as in most tries of a search. `nothing` is an empty one,
of which the fence is the largest share. The keeper, the checks of messages and the watch on memory are part of both:
nothing runs without them.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.lanes import TEXT  # noqa: E402
from shrinkray_gpu.runner.pool import Pool, Script  # noqa: E402
from shrinkray_gpu.runner.private_setup import private_setup  # noqa: E402

CASES = {
    "fork, kernel": ("fork", TEXT, ("torch", "triton"), 90),
    "fork, nothing": ("fork", "pass\n", (), None),
    "cold, nothing": ("cold", "pass\n", (), None),
}
"""How it runs, the program, what workers import, and the architecture."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pairs", type=int, default=60)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    told: dict[str, Any] = {"machine": platform.platform(), "cores": os.cpu_count(), "load": os.getloadavg()}
    for name in CASES:
        told[name] = measured(name, given.pairs)
        print(name, told[name], flush=True)
    if given.json:
        given.json.write_text(json.dumps(told, indent=1) + "\n")


def measured(name: str, pairs: int) -> dict[str, Any]:
    mode, text, imports, arch = CASES[name]
    seconds: dict[bool, list[float]] = {True: [], False: []}
    with tempfile.TemporaryDirectory(prefix="containment-") as made:
        pools = {fenced: pool_in(Path(made, str(fenced)), mode, imports, arch, fenced) for fenced in seconds}
        with closing(pools[True]), closing(pools[False]):
            for number in range(-3, pairs):  # the first ones warm up
                for fenced in (True, False) if number % 2 else (False, True):
                    source = text.replace("NEW", f"{number + 4}.{int(fenced)}")
                    began = time.perf_counter()
                    run = pools[fenced].run(source)
                    took = time.perf_counter() - began
                    assert not run.trouble and bool(run.fence) == fenced, run
                    if number >= 0:
                        seconds[fenced].append(took)
    told: dict[str, Any] = {"pairs": pairs}
    for which, part in (("median", 0.5), ("fastest tenth", 0.1)):
        fenced, free = (1000 * sorted(seconds[key])[int(part * pairs)] for key in (True, False))
        told[which] = {
            "in the fence, ms": round(fenced, 2),
            "without, ms": round(free, 2),
            "candidates a second, with to without": round(free / fenced, 3),
        }
    return told


def pool_in(folder: Path, mode: str, imports: tuple[str, ...], arch: int | None, fenced: bool) -> Pool:
    setup = private_setup(
        folder / "work", os.environ, python=sys.executable, imports=imports, own=(), arch=arch, confine=fenced
    )
    script = Script(folder / "script.py", cwd=folder)
    return Pool(script, setup, mode=mode, jobs=1, seconds=60)


if __name__ == "__main__":
    main()

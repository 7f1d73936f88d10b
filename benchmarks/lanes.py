"""What more lanes bring on this machine: candidates a second, and seconds each, by how many run beside each other.

    python benchmarks/lanes.py --lanes 1 2 4 8 16 --seconds 8 --json build/lanes.json

Each candidate is a program of its own that Triton compiles for the virtual GPU and none of the caches knows, as in most
tries of a search. `fork`: from the order to a process that is ready; `run`: from the candidate to its answer; `user`,
`system`: how much of the machine's cores the whole took. A search waits for its slowest try, so more lanes pay only as
long as `run` stays what it is with one.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import platform
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from shrinkray_gpu.runner.lanes import Setup  # noqa: E402
from shrinkray_gpu.runner.pool import Pool, Script  # noqa: E402

TEXT = """\
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, y):
    desc = tl.make_tensor_descriptor(x, [8, 64], [64, 1], [1, 16])
    found = tl.zeros([1, 16], tl.float32)
    for at in tl.range(0, 64, 16, num_stages=4):
        found += desc.load([0, at]) * NEW
    tl.store(y, tl.sum(found))


triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
kernel[(1,)](torch.ones(8, 64, device="cuda"), torch.empty(1, device="cuda"))
torch.cuda.synchronize()
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lanes", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    parser.add_argument("--seconds", type=float, default=8.0, help="for each number of lanes (8)")
    parser.add_argument("--arch", type=int, default=90)
    parser.add_argument("--no-code", action="store_true", help="compile to LLVM's IR only, as a search does if it can")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    told = [measured(lanes, given.seconds, given.arch, not given.no_code) for lanes in given.lanes]
    if given.json:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        where = f"{os.cpu_count()} cores, {platform.platform()}, Python {platform.python_version()}"
        given.json.write_text(json.dumps({"where": where, "lanes": told}, indent=1) + "\n")


NEW = itertools.count(1)


def measured(lanes: int, seconds: float, arch: int, machine_code: bool) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "script.py")
        environment = {**os.environ, "TRITON_CACHE_DIR": str(Path(folder, "triton"))}
        setup = Setup(sys.executable, environment, ("torch", "triton"), own=(), scratch=folder, arch=arch)
        pool = Pool(Script(path, asserts=False), setup, mode="virtual", jobs=lanes, seconds=60.0)
        try:
            pool.start(TEXT)
            begun = time.monotonic()
            pool.run(TEXT.replace("NEW", "0"), machine_code=machine_code)
            first = time.monotonic() - begun
            time.sleep(1.0)  # the spare lanes are up
            before, begun = _ticks(), time.monotonic()
            runs: list[float] = []

            def one() -> None:
                while time.monotonic() < begun + seconds:
                    text = TEXT.replace("NEW", str(next(NEW)))
                    run = pool.run(text, machine_code=machine_code)
                    assert run.compiles and not run.trouble, run
                    runs.append(run.seconds)

            threads = [threading.Thread(target=one) for _ in range(lanes)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            spent, after = time.monotonic() - begun, _ticks()
        finally:
            pool.close()
    runs.sort()
    user, system = ((b - a) / os.sysconf("SC_CLK_TCK") / spent for a, b in zip(before, after))
    told = {
        "lanes": lanes,
        "a second": round(len(runs) / spent, 2),
        "first": round(first, 3),
        "run": round(sum(runs) / len(runs), 3),
        "slowest tenth": round(runs[int(len(runs) * 0.9)], 3),
        "between": round(lanes * spent / len(runs) - sum(runs) / len(runs), 3),
        "user": round(user, 2),
        "system": round(system, 2),
    }
    print(told, flush=True)
    return told


def _ticks() -> tuple[int, int]:
    user, nice, system = map(int, Path("/proc/stat").read_text().split("\n")[0].split()[1:4])
    return user + nice, system


if __name__ == "__main__":
    main()

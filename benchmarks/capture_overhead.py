"""What the capture hook costs a launch, in microseconds: `python -m benchmarks.capture_overhead [--json FILE]`.

Real launches through Triton's own `kernel[grid](...)`, rounds with the hook and without it in a seeded order. On a
machine without a GPU the last step, the driver's, does nothing, and tensors lie on the CPU: all that the host does
before that step, and all that the hook does, is as on a GPU. Of torch.compile only the launch by Inductor's autotuner
is measured there. It prints the median of the differences of neighbours.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import triton
import triton.language as tl

from shrinkray_gpu.runner.inside.capsule.hook import Hook
from shrinkray_gpu.runner.inside.vgpu.driver import VirtualDriver

STEP = 20_000.0
"""Microseconds of the step of a model that overhead is compared with."""
SHARE = 0.02
LAUNCHES = (10, 50, 100, 200, 400)
"""In such a step."""


@triton.jit
def one(x, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, 1.0, mask=at < n)


@triton.jit
def five(a, b, c, d, e, n, scale, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    mask = at < n
    value = tl.load(a + at, mask=mask) + tl.load(b + at, mask=mask) + tl.load(c + at, mask=mask)
    tl.store(e + at, value * scale + tl.load(d + at, mask=mask), mask=mask)


class Silent(VirtualDriver):
    """Compiles for an H100, and launches nothing."""

    def __init__(self) -> None:
        super().__init__(90, None)

    def launcher_cls(self, src: Any, metadata: Any) -> Callable[..., None]:
        return lambda *args: None


def compiled(x: list[torch.Tensor]) -> Callable[[], object]:
    """One launch of Inductor's, of three tensors and a number."""
    if torch.cuda.is_available():
        step = torch.compile(lambda a, b: torch.relu(a) + b)
        return lambda: step(x[0], x[1])
    from torch._inductor.runtime.triton_heuristics import CachingAutotuner

    tuner: Any = CachingAutotuner.__new__(CachingAutotuner)
    tuner._cached_launcher = lambda *args, stream: None  # the driver's part
    return lambda: tuner.run(*x[:3], 4096, stream=0)


def launches() -> dict[str, Callable[[], object]]:
    """By name, something that launches once."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu":
        triton.runtime.driver.set_active(Silent())
    x = [torch.zeros(64, 64, device=device) for _ in range(5)]
    sizes = lambda meta: (64 // meta["BLOCK"],)  # noqa: E731
    return {
        "1 tensor, 1 number": lambda: one[(1,)](x[0], 64, BLOCK=64),
        "5 tensors, 2 numbers": lambda: five[(1,)](*x, 64, 0.5, BLOCK=64),
        "5 tensors, a grid that is a function": lambda: five[sizes](*x, 64, 0.5, BLOCK=64),
        "torch.compile, 3 tensors, 1 number": compiled(x),
    }


def facts(tensors: list[torch.Tensor]) -> list[object]:
    """What the hook asks torch of each tensor: no hook that asks it can cost less."""
    return [(each.dtype, each.shape, each.stride(), each.data_ptr()) for each in tensors]


def measured(launch: Callable[[], object], count: int) -> float:
    """Microseconds a launch."""
    wait = torch.cuda.synchronize if torch.cuda.is_available() else (lambda: None)
    wait()
    start = time.thread_time()  # others may have the core
    for _ in range(count):
        launch()
    took = time.thread_time() - start
    wait()
    return took / count * 1e6


def compared(launch: Callable[[], object], *, rounds: int, count: int, seed: int) -> dict[str, float]:
    """The median of a launch without the hook, and of what the hook adds in neighbouring rounds."""
    order = random.Random(seed)
    launch()
    plain, added = [], []
    for _ in range(rounds):
        took = {}
        for hooked in order.sample([True, False], 2):
            hook = Hook() if hooked else None
            if hook is not None:
                hook.install()
            try:
                measured(launch, count // 10)  # warm
                took[hooked] = measured(launch, count)
            finally:
                if hook is not None:
                    hook.remove()
        plain.append(took[False])
        added.append(took[True] - took[False])
    low, high = statistics.quantiles(added, n=4)[::2]
    return {
        "plain": statistics.median(plain),
        "added": statistics.median(added),
        "added_quartile_1": low,
        "added_quartile_3": high,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=41)
    parser.add_argument("--count", type=int, default=2000, help="launches a round")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    where = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU, the driver's part left out"
    print(f"{where}; torch {torch.__version__}, Triton {triton.__version__}; {given.rounds} rounds of {given.count}")
    found = {}
    for name, launch in launches().items():
        found[name] = row = compared(launch, rounds=given.rounds, count=given.count, seed=given.seed)
        quartiles = f"{row['added_quartile_1']:.2f} to {row['added_quartile_3']:.2f}"
        print(f"{name:38} {row['plain']:7.2f} us, the hook adds {row['added']:5.2f} us ({quartiles})")
    tensors = [torch.zeros(64, 64) for _ in range(5)]
    told = statistics.median(measured(lambda: facts(tensors), given.count) for _ in range(given.rounds))
    print(f"of that, torch takes {told:.2f} us to tell type, shape, strides and address of 5 tensors")
    worst = max(row["added"] for row in found.values())
    print(f"of a step of {STEP / 1000:g} ms, at {worst:.2f} us a launch:")
    for count in LAUNCHES:
        share = worst * count / STEP
        print(f"  {count:4} launches: {share:6.2%}, {'under' if share < SHARE else 'NOT under'} {SHARE:.0%}")
    print(f"  {int(SHARE * STEP / worst)} launches are {SHARE:.0%}")
    if given.json:
        about = {"where": where, "torch": torch.__version__, "triton": triton.__version__, "rounds": given.rounds}
        about["torch_tells_of_5_tensors"] = told
        given.json.write_text(json.dumps({**about, "count": given.count, "launches": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()

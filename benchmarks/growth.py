"""How tries and time grow with the size of the program: one is padded with lines that it uses, or does not use.

    python benchmarks/growth.py fp8_pack --arch sm_90 --lines 0 250 500 1000 2000 4000
    python benchmarks/growth.py fp8_pack --arch sm_90 --lines 0 1000 4000 --no-lift     the search has it all to do
    python benchmarks/growth.py --plot

Padding is what surrounds a kernel in real files: element-wise kernels with their wrappers, tables of settings, data
classes, functions on the host. Used padding runs before the fault, at the top of the file's main program. `own` is the
share of the wall in which no candidate was running: the tool's own work; `cpu` the CPU seconds of its own process,
which other work on the machine does not disturb. Results are kept in benchmarks/results/growth_cpu.json as they come;
what is there is not run again, unless --again.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import drawing  # noqa: E402
import suite  # noqa: E402

from shrinkray_gpu import Options, reduce  # noqa: E402
from shrinkray_gpu.reduction.size import tokens  # noqa: E402
from shrinkray_gpu.runner.pool import Pool  # noqa: E402

RESULT = Path(__file__).parent / "results" / "growth_cpu.json"
BLOCK = '''

@triton.jit
def padded_{i}_kernel(x_ptr, y_ptr, total, scale, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < total
    x = tl.load(x_ptr + offsets, mask=inside, other=0.0)
    y = x * scale + {i}.0
    tl.store(y_ptr + offsets, tl.where(y > 0, y, y * 0.{i}), mask=inside)


class Padded{i}:
    """Settings of stage {i}, and its launch."""

    block = {block}

    def __init__(self, width, scale=1.{i}):
        self.width, self.scale = width, scale
        self.seen = []

    def launch(self, x):
        y = torch.zeros_like(x)
        self.seen.append(tuple(x.shape))
        if self.width > 1:
            grid = (triton.cdiv(x.numel(), self.block),)
            padded_{i}_kernel[grid](x, y, x.numel(), self.scale, BLOCK=self.block)
        return y


def padded_{i}_report(stage, x):
    result = {{"name": "stage {i}", "width": stage.width, "blocks": x.numel() // stage.block}}
    for key, value in list(result.items()):
        if isinstance(value, int) and value > {limit}:
            result[key + " (many)"] = value - {limit}
    return sorted(result.items(), key=str)
'''
USE = """
padded_{i}_stage = Padded{i}({width})
padded_{i}_out = padded_{i}_stage.launch(torch.zeros({width}, device="cuda"))
padded_{i}_report(padded_{i}_stage, padded_{i}_out)
"""
BLOCK_LINES = len(BLOCK.splitlines())


def padded(text: str, more: int, *, used: bool) -> str:
    """The text with at least so many more lines in front of its last statement, a main program or what runs it."""
    lines = text.rstrip("\n").split("\n")
    at = max(index for index, line in enumerate(lines) if line and not line[0].isspace() and line[0] not in ")#")
    if used and not lines[at].startswith("if __name__"):
        at = len(lines)
    each = BLOCK_LINES + (USE.count("\n") if used else 0)
    count = -(-more // each)
    numbers = range(1, count + 1)
    blocks = [BLOCK.format(i=i, block=64 << i % 3, limit=8 + i % 5) for i in numbers]
    uses = [USE.format(i=i, width=32 * (1 + i % 4)) for i in numbers] if used else []
    return "\n".join([*lines[:at], *blocks, "", *uses, *lines[at:]]) + "\n"


@contextmanager
def busy() -> Iterator[list[float]]:
    """Seconds in which at least one candidate ran, in the one number of the list."""
    lock, running, since, total = threading.Lock(), [0], [0.0], [0.0]
    originals = {name: getattr(Pool, name) for name in ("run", "cold")}

    def counted(name: str) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            with lock:
                if not running[0]:
                    since[0] = time.monotonic()
                running[0] += 1
            try:
                return originals[name](*args, **kwargs)
            finally:
                with lock:
                    running[0] -= 1
                    if not running[0]:
                        total[0] += time.monotonic() - since[0]

        return call

    for name in originals:
        setattr(Pool, name, counted(name))
    try:
        yield total
    finally:
        for name, original in originals.items():
            setattr(Pool, name, original)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program", nargs="?", default="kv_page_scan")
    parser.add_argument("--arch", help="sm_90: on the virtual GPU")
    parser.add_argument("--lines", type=int, nargs="*", default=[0, 250, 500, 1000, 2000, 4000])
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--max-time", type=float, default=300)
    parser.add_argument("--no-lift", action="store_true", help="as where a launch cannot be lifted")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--note", default="")
    parser.add_argument("--plot", action="store_true", help="only draw what is there")
    given = parser.parse_args()
    if given.plot:
        plot()
        return
    program = next((one for one in suite.programs() if one.name == given.program), None)
    if program is None:
        raise SystemExit(f"no such program: {given.program}")
    kept: dict[str, Any] = json.loads(RESULT.read_text()) if RESULT.exists() else {"runs": {}}
    kept["environment"] = {"command": sys.argv, "cores": os.cpu_count(), "note": given.note}
    arch = int(given.arch.removeprefix("sm_")) if given.arch else None
    for used in (False, True):
        for more in given.lines:
            name = f"{program.name} {'used' if used else 'unused'} {more}{' no lift' if given.no_lift else ''}"
            if name in kept["runs"] and not given.again:
                continue
            text = padded(program.text(), more, used=used) if more else program.text()
            kept["runs"][name] = found = one(text, program, arch, given)
            print(name, found, flush=True)
            RESULT.parent.mkdir(exist_ok=True)
            RESULT.write_text(json.dumps(kept, indent=1) + "\n")


def one(text: str, program: suite.Failing, arch: int | None, given: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder, busy() as seconds:
        path = Path(folder, "case.py")
        path.write_text(text)
        options = Options(
            oracle=program.oracle,
            arch=arch,
            jobs=given.jobs,
            output=Path(folder, "repro.py"),
            max_time=given.max_time,
            skip=frozenset({"lift"} if given.no_lift else ()),
            report=False,
        )
        began, cpu = time.monotonic(), time.process_time()
        result = reduce(path, options, say=lambda text: None)
        wall, cpu = time.monotonic() - began, time.process_time() - cpu
    return {
        "lines before": len(text.splitlines()),
        "tokens before": tokens(text),
        "tokens": result.after[1],
        "tries": sum(result.tries.values()),
        "seconds": {key: round(value, 1) for key, value in result.seconds.items()},
        "wall": round(wall, 1),
        "own": round(1 - seconds[0] / wall, 3),
        "cpu": round(cpu, 1),
        "ended": result.ended,
    }


def plot() -> None:
    """Tries and search seconds against lines."""
    plt = drawing.pyplot()
    runs = json.loads(RESULT.read_text())["runs"]
    figure, axes = plt.subplots(1, 2, figsize=(8.4, 3))
    for kind, colour, no_lift in (("unused", "C0", 0), ("used", "C3", 0), ("unused", "C0", 1), ("used", "C3", 1)):
        chosen = [run for name, run in runs.items() if f" {kind} " in name and ("no lift" in name) == no_lift]
        points = sorted((run["lines before"], at) for at, run in enumerate(chosen))
        for axis, what in ((axes[0], "tries"), (axes[1], "seconds")):
            values = [chosen[at]["tries"] if what == "tries" else chosen[at]["seconds"]["search"] for _, at in points]
            label = f"{kind}, not lifted" if no_lift else kind
            axis.plot([at for at, _ in points], values, "o:" if no_lift else "o-", color=colour, label=label)
            axis.set(xlabel="lines of the program", ylabel=what if what == "tries" else "seconds of search")
            axis.set_ylim(bottom=0)
    axes[0].legend()
    figure.tight_layout()
    drawing.save(figure, RESULT)


if __name__ == "__main__":
    main()

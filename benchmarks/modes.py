"""One reduction in each running mode, and what each mode makes of faults, passes and Python errors a second.

    python benchmarks/modes.py corpus/tma_misaligned/failing.py --oracle "misaligned address" --seconds 400
    python benchmarks/modes.py FILE --oracle SPEC --arch sm_90          no GPU: virtual against cold

Modes: `virtual` (a fork a candidate, nothing is launched), `all` (on a GPU: dry runs, credit and warm contexts, as the
tool runs by itself), `warm` (contexts reused while clean), `fork` (a fresh context each), `cold` (a process each, with
nothing imported and an empty Triton cache). Rates are of prepared candidates through a Pool with as many lanes as the
reduction has; a reduction that is out of time is told as such, with the size it came to.

Needs torch and Triton for the candidates, and libcst, tqdm and click for the tool, which need not be installed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from shrinkray_gpu.device import gpus  # noqa: E402
from shrinkray_gpu.errors import ShrinkError  # noqa: E402
from shrinkray_gpu.job.reduce import reduce  # noqa: E402
from shrinkray_gpu.options import Options  # noqa: E402
from shrinkray_gpu.oracle import parse  # noqa: E402
from shrinkray_gpu.runner.lanes import Setup  # noqa: E402
from shrinkray_gpu.runner.pool import Pool, Script  # noqa: E402
from shrinkray_gpu.runner.run import Run  # noqa: E402

HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n"
KERNEL = """
@triton.jit
def total(x_ptr, y_ptr, width, TILE: tl.constexpr, STAGES: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, shape=[8, width], strides=[width, 1], block_shape=[1, TILE])
    found = tl.zeros([1, TILE], tl.float32)
    for at in tl.range(0, width, TILE, num_stages=STAGES):
        found += x.load([0, at]) * NEW
    tl.store(y_ptr, tl.sum(found))


triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
x = torch.ones(8, 64, device="cuda")
y = torch.empty(1, device="cuda")
total[(1,)](x, y, 64, TILE=LEAST, STAGES=4)
torch.cuda.synchronize()
"""
KINDS = {
    "fault": "a kernel compiled before, misaligned address",
    "pass": "a kernel compiled before, ends well",
    "pass, new kernel": "ends well, and each candidate has a kernel that was never compiled",
    "Python error": "a NameError before the first launch",
}
CHECK = 25.0
"""Seconds kept back for start and final check, within a mode's share of the time."""


def candidate(kind: str, number: int) -> str:
    """The `number`th candidate of a kind; no two are the same text."""
    mark = f"# {number}\n"
    if kind == "fault":
        return mark + HEAD + KERNEL.replace("NEW", "1").replace("LEAST", "4")
    if kind == "pass":
        return mark + HEAD + KERNEL.replace("NEW", "1").replace("LEAST", "32")
    if kind == "pass, new kernel":
        return mark + HEAD + KERNEL.replace("NEW", f"{number + 2}").replace("LEAST", "32")
    return mark + HEAD + "x = torch.ones(4)\nprint(x + undefined)\n"


def as_expected(kind: str, run: Run, folder: Path) -> bool:
    if kind == "fault":
        return parse("misaligned address", folder=folder).judge(run).faults
    if kind == "Python error":
        return run.failure is not None and run.failure.type == "NameError"
    return run.exit == 0 and not run.driver_error


@contextmanager
def pool(mode: str, folder: Path, arch: int | None, jobs: int, python: str) -> Iterator[Pool]:
    """Lanes as a reduction in that mode has them."""
    on_gpu = arch is None
    caches = folder / "cache"
    caches.mkdir(exist_ok=True)
    setup = Setup(
        python=python,
        environment={
            **os.environ,
            "TRITON_CACHE_DIR": str(caches / "triton"),
            "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
        },
        imports=("torch", "triton"),
        own=(str(folder),),
        scratch=str(folder),
        writable=(str(caches),),
        arch=arch,
        warm=on_gpu and mode in ("all", "warm", "fork"),
        reuse=on_gpu and mode in ("all", "warm"),
    )
    name = {"all": "fork", "warm": "fork"}.get(mode, mode)
    made = Pool(Script(folder / "candidate.py", cwd=folder), setup, mode=name, jobs=jobs, seconds=30)
    try:
        if mode != "cold":
            made.start(candidate("pass", -1))
        yield made
    finally:
        made.close()


def rate(lanes: Pool, kind: str, folder: Path, *, seconds: float, copies: int) -> dict[str, Any]:
    """Push candidates of one kind through all lanes, until time or copies are up; at least one a lane."""
    for warm_up in range(1 if lanes.mode == "cold" else 2):
        lanes.run(candidate(kind, -10 - warm_up))
    taken, right, wrong = 0, 0, []
    lock = threading.Lock()
    started = time.monotonic()

    def lane(_: int) -> None:
        nonlocal taken, right
        first = True
        while first or (time.monotonic() - started < seconds and taken < copies):
            first = False
            with lock:
                taken += 1
                number = taken
            run = lanes.run(candidate(kind, number))
            with lock:
                if as_expected(kind, run, folder):
                    right += 1
                else:
                    said = run.failure.text if run.failure else f"exit {run.exit}, driver {run.driver_error}"
                    wrong.append((run.trouble or said)[:200])

    with ThreadPoolExecutor(lanes.jobs) as threads:
        list(threads.map(lane, range(lanes.jobs)))
    spent = time.monotonic() - started
    found: dict[str, Any] = {"runs": taken, "seconds": round(spent, 2), "per_second": round(right / spent, 2)}
    if wrong:
        found["not_as_expected"] = {"count": len(wrong), "first": wrong[0]}
    return found


def reduction(mode: str, args: argparse.Namespace, folder: Path, seconds: float) -> dict[str, Any]:
    """One reduction in that mode, cut off after so many seconds of search."""
    options = Options(
        oracle=tuple(args.oracle),
        output=folder / "repro.py",
        python=args.python,
        arch=args.capability,
        argv=tuple(args.args),
        jobs=args.jobs,
        max_time=seconds,
        seed=args.seed,
        restart=True,
        final_runs=args.final_runs,
        mode=None if mode in ("all", "virtual") else mode,
        report=False,
    )
    said: list[str] = []
    started = time.monotonic()
    result = reduce(args.file, options, say=said.append)
    return {
        "ended": result.ended,
        "mode": result.mode,
        "wall": round(time.monotonic() - started, 1),
        "seconds": {name: round(value, 1) for name, value in result.seconds.items()},
        "tries": dict(result.tries),
        "lines": [result.before[0], result.after[0]],
        "tokens": [result.before[1], result.after[1]],
        "verified": f"{result.verified} of {result.final_runs}",
        "said": said,
        "text": result.text,
    }


def measure(mode: str, args: argparse.Namespace, share: float) -> dict[str, Any]:
    """All numbers of one mode. What goes wrong is told in its place, and the other modes go on."""
    found: dict[str, Any] = {"mode": mode, "rates": {}}
    ends = time.monotonic() + share
    with tempfile.TemporaryDirectory(prefix="modes-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        if not args.no_rates:
            try:
                with pool(mode, folder, args.capability, args.jobs, args.python) as lanes:
                    for kind in KINDS:
                        seconds = min(args.rate_seconds, 0.1 * share)
                        found["rates"][kind] = rate(lanes, kind, folder, seconds=seconds, copies=args.copies)
                    found["lanes_retired"] = dict(lanes.retired)
            except Exception as error:
                found["rates_error"] = f"{type(error).__name__}: {error}"
                print(traceback.format_exc(), file=sys.stderr)
        if not args.no_reduction:
            try:
                found["reduction"] = reduction(mode, args, folder, max(5.0, ends - time.monotonic() - CHECK))
            except ShrinkError as error:
                found["reduction_error"] = str(error)
            except Exception as error:
                found["reduction_error"] = f"{type(error).__name__}: {error}"
                print(traceback.format_exc(), file=sys.stderr)
    return found


def table(rows: list[list[str]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)


def summary(all_found: list[dict[str, Any]]) -> str:
    """Two tables for a person."""
    rates = [["a second", *KINDS]]
    runs = [["reduction", "ended", "lines", "tokens", "wall s", "start", "search", "check", "verified", "tries"]]
    troubles = []
    for found in all_found:
        cells = []
        for kind in KINDS:
            one = found["rates"].get(kind)
            odd = one.get("not_as_expected") if one else None
            cells.append("-" if one is None else f"{one['per_second']:g}" + (f" ({odd['count']} wrong)" if odd else ""))
            if odd:
                troubles.append(f"{found['mode']}, {kind}: {odd['count']} not as expected, first: {odd['first']}")
        rates.append([found["mode"], *cells])
        one = found.get("reduction")
        if one is not None:
            spent = one["seconds"]
            tries = ", ".join(f"{count} {tier}" for tier, count in sorted(one["tries"].items()))
            runs.append(
                [
                    found["mode"] if one["mode"] in (found["mode"], "warm") else f"{found['mode']} (ran {one['mode']})",
                    one["ended"],
                    "{} to {}".format(*one["lines"]),
                    "{} to {}".format(*one["tokens"]),
                    f"{one['wall']:.0f}",
                    *(f"{spent[part]:.0f}" for part in ("start", "search", "check")),
                    one["verified"],
                    tries,
                ]
            )
        troubles += [f"{found['mode']}: {found[key]}" for key in ("rates_error", "reduction_error") if key in found]
    return "\n\n".join([table(rates), table(runs), *(["\n".join(troubles)] if troubles else [])])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("args", nargs="*", help="arguments of FILE, after --")
    parser.add_argument("--oracle", action="append", required=True)
    parser.add_argument("--arch", help="such as sm_90: the virtual GPU instead of a real one")
    parser.add_argument("--modes", help="comma-separated; default: all that this machine has")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--jobs", type=int, default=min(12, os.cpu_count() or 1), help="lanes, the same in all modes")
    parser.add_argument("--seconds", type=float, default=400.0, help="for everything together, about")
    parser.add_argument("--rate-seconds", type=float, default=8.0, help="for one kind in one mode, at most")
    parser.add_argument("--copies", type=int, default=400, help="candidates of one kind in one mode, at most")
    parser.add_argument("--final-runs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-rates", action="store_true")
    parser.add_argument("--no-reduction", action="store_true")
    parser.add_argument("--json", type=Path, metavar="FILE", help="all numbers, written again after each mode")
    args = parser.parse_args()
    args.capability = int("".join(c for c in args.arch if c.isdigit())) if args.arch else None
    if args.capability is None and not gpus.present():
        parser.error("there is no GPU here: give --arch sm_90 to compare the virtual GPU with cold processes")
    possible = ["all", "warm", "fork", "cold"] if args.capability is None else ["virtual", "cold"]
    modes = args.modes.split(",") if args.modes else possible
    if unknown := [mode for mode in modes if mode not in possible]:
        parser.error(f"no such mode here: {', '.join(unknown)}. There are {', '.join(possible)}")

    about = {
        "file": str(args.file),
        "oracle": args.oracle,
        "arch": args.arch,
        "jobs": args.jobs,
        "cores": os.cpu_count(),
        "machine": platform.platform(),
        "capability": gpus.capability() if args.capability is None else None,
        "kinds": KINDS,
    }
    ends = time.monotonic() + args.seconds
    all_found: list[dict[str, Any]] = []
    for index, mode in enumerate(modes):
        share = max(20.0, (ends - time.monotonic()) / (len(modes) - index))
        print(f"{mode}: about {share:.0f} s ...", file=sys.stderr, flush=True)
        all_found.append(measure(mode, args, share))
        if args.json:
            args.json.write_text(json.dumps({**about, "modes": all_found}, indent=1))
    print(f"{args.jobs} lanes, {os.cpu_count()} cores, {args.file}, {' and '.join(args.oracle)}\n")
    print(summary(all_found))
    return 0 if all("reduction_error" not in found and "rates_error" not in found for found in all_found) else 1


if __name__ == "__main__":
    sys.exit(main())

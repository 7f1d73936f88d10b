"""What a host with several GPUs brings: tries a second, a flaky fault, a replay, and programs that need two GPUs.

    python benchmarks/several_gpus.py --json results/several_gpus_h100.json [--gpus 1 2 4] [--until 530] [CASE ...]

A case at a time, each in a process of its own, with its row written down when it ends. A second call goes on: cases
that have a row are left out. Cases:

    contexts/N   contexts that end in a fault, by the driver alone: what bounds the next ones
    tries/N      the same by lanes of the tool, with torch and a Triton kernel
    reduce/N     a reduction whose tries each cost a context
    flaky/N      a fault of 10 % a run: its rate, six programs without it refuted, six with it confirmed
    replay/N     40 cells of the corpus; replay/N+lost with one GPU more that is lost after it was counted
    shards/N     the same, a shard for each GPU; ray/N and ray/N+lost by a task for each GPU of a Ray cluster
    peer, table  a kernel on the first GPU that is given the second's memory: as an argument, which Triton refuses as
                 long as no GPU may reach the other, and in a table of addresses
    nccl         an all-reduce over two GPUs, whose result a kernel takes for addresses

Whoever starts NCCL here has multicast turned off: on some hosts it may take the GPUs out of service.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

QUIET = {"NCCL_NVLS_ENABLE": "0", "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1", "NVSHMEM_DISABLE_NVLS": "1"}
LOST = "GPU-00000000-0000-0000-0000-000000000000"
"""The name of a GPU that is not there: a process that is given it finds none, as with one that fell off its bus."""
CASES = ("tma_misaligned", "missing_mask", "int32_offset_overflow", "wrong_stride", "stale_trip_count")
COPIES = 8
AT_ONCE = 6
"""Tries at a time for each GPU."""
LIMIT = 170.0
"""Seconds for a case."""
Row = dict[str, Any]

FAULT = """\
import torch
import triton
import triton.language as tl


@triton.jit
def store(out, far):
    tl.store(out + far, 1)


store[(1,)](torch.empty(1, dtype=torch.int32, device="cuda"), 1 << 40)
torch.cuda.synchronize()
"""
BOUND = """\
import torch
import triton
import triton.language as tl


@triton.jit
def hash_keys(keys_ptr, seed, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    key = (at.to(tl.int64) + seed) * 2654435761
    tl.store(keys_ptr + at, key & 0xFFFFFFFFFFF, mask=at < n)


@triton.jit
def gather_rows(data_ptr, keys_ptr, out_ptr, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    key = tl.load(keys_ptr + row)
    at = tl.arange(0, BLOCK)
    values = tl.load(data_ptr + key * width + at, mask=at < width, other=0.0)
    scale = 1.0 / (1.0 + tl.sum(values * values, axis=0))
    tl.store(out_ptr + row * width + at, values * scale, mask=at < width)


def lookup(data, seed):
    rows, width = data.shape
    keys = torch.empty(rows, dtype=torch.int64, device=data.device)
    hash_keys[(triton.cdiv(rows, 32),)](keys, seed, rows, BLOCK=32)
    out = torch.empty_like(data)
    gather_rows[(rows,)](data, keys, out, width, BLOCK=triton.next_power_of_2(width))
    return out


data = torch.arange(64 * 128, dtype=torch.float32, device="cuda").reshape(64, 128)
for step in range(2):
    out = lookup(data, 7 + step)
    torch.cuda.synchronize()
    print("step", step, tuple(out.shape))
"""
LUCK = """\
import os

import torch

SHIFT = 2 if int.from_bytes(os.urandom(4), "big") < {chance} * 2**32 else 0


def buffer(size):
    return torch.zeros(size + 16, dtype=torch.uint8, device="cuda")[SHIFT:]
"""
FLAKY = """\
import torch
import triton
import triton.language as tl

import luck


@triton.jit
def gather(x, out):
    tl.store(out, tl.load(x.to(tl.pointer_type(tl.int32))))


gather[(1,)](luck.buffer(4), torch.empty(1, dtype=torch.int32, device="cuda"))
torch.cuda.synchronize()
"""
PEER = """\
import torch
import triton
import triton.language as tl

LAYERS = {"first": 0, "second": 1}


@triton.jit
def scale(x_ptr, y_ptr, n, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    tl.store(y_ptr + at, x * factor, mask=at < n)


def stage(name, n):
    return torch.ones(n, device=f"cuda:{LAYERS[name]}")


def run(n=4096, factor=0.5):
    weights = stage("second", n)
    before = stage("first", n)
    out = torch.empty_like(before)
    scale[(triton.cdiv(n, 256),)](before, out, n, factor, BLOCK=256)
    torch.cuda.synchronize()
    print("one GPU", float(out.sum()))
    scale[(triton.cdiv(n, 256),)](weights, out, n, factor, BLOCK=256)
    torch.cuda.synchronize()
    print("two GPUs", float(out.sum()))


run()
"""
TABLE = """\
import torch
import triton
import triton.language as tl


@triton.jit
def add_all(table_ptr, out_ptr, parts, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for part in range(parts):
        address = tl.load(table_ptr + part)
        part_ptr = address.to(tl.pointer_type(tl.float32))
        total += tl.load(part_ptr + at, mask=at < n, other=0.0)
    tl.store(out_ptr + at, total, mask=at < n)


def gathered(parts, n):
    table = torch.tensor([part.data_ptr() for part in parts], dtype=torch.int64, device="cuda:0")
    out = torch.empty(n, device="cuda:0")
    add_all[(triton.cdiv(n, 128),)](table, out, len(parts), n, BLOCK=128)
    torch.cuda.synchronize()
    return out


n = 1024
home = [torch.ones(n, device="cuda:0") for _ in range(2)]
print("all at home", float(gathered(home, n).sum()))
away = torch.ones(n, device="cuda:1")
print("one away", float(gathered([home[0], away], n).sum()))
"""
NCCL = """\
import torch
import torch.cuda.nccl as nccl
import triton
import triton.language as tl

FAR = 1 << 36


@triton.jit
def pick(x_ptr, at_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    places = tl.load(at_ptr + at, mask=at < n, other=0)
    tl.store(y_ptr + at, tl.load(x_ptr + places, mask=at < n, other=0.0), mask=at < n)


def shares(n):
    below = torch.arange(n, device="cuda:0")
    above = torch.full((n,), FAR, device="cuda:1")
    return [below, above]


n = 64
parts = shares(n)
nccl.all_reduce(parts)
values = torch.ones(n, device="cuda:0")
out = torch.empty(n, device="cuda:0")
pick[(1,)](values, parts[0], out, n, BLOCK=64)
torch.cuda.synchronize()
print(float(out.sum()))
"""


def names() -> list[str]:
    """The GPUs of this host, as CUDA_VISIBLE_DEVICES names each."""
    from shrinkray_gpu.device import gpus

    return [name for name, _ in gpus.visible(os.environ)]


def measure_contexts(count: int, seconds: float = 4.0) -> Row:
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT / 'benchmarks')!r})\nimport contexts, json\n"
        f"one = dict([('CUDA_DEVICE_MAX_CONNECTIONS', '1')])\n"
        f"print(json.dumps(contexts.measure(8, {seconds}, one, fault=True)))"
    )
    beside = [
        subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "CUDA_VISIBLE_DEVICES": name}, stdout=-1)
        for name in names()[:count]
    ]
    rows = [json.loads(each.communicate()[0]) for each in beside]
    return {"a second": round(sum(row["a second"] for row in rows), 2), "each": rows}


def opened(text: str, folder: Path, groups: Sequence[str], jobs: int, *, reuse: bool) -> Any:
    """A pool with warm lanes on these GPUs, as a reduction has them."""
    from dataclasses import replace

    from shrinkray_gpu.job.asked import setup_of
    from shrinkray_gpu.options import Options
    from shrinkray_gpu.runner.gpu_groups import GpuGroups
    from shrinkray_gpu.runner.pool import Pool, Script

    path = folder / "script.py"
    path.write_text(text)
    setup = setup_of(path, folder, Options(oracle=("any",)))
    setup = replace(setup, imports=("torch", "triton"), warm=True, reuse=reuse)
    Path(setup.scratch).mkdir(parents=True, exist_ok=True)
    script = Script(path, cwd=folder)
    told: list[str] = []
    pool = Pool(script, setup, mode="fork", jobs=jobs, seconds=60, groups=GpuGroups(groups, told.append))
    began = time.monotonic()
    pool.start(text)
    for _ in range(2):  # the kernel is compiled, and lanes are up on each GPU
        with ThreadPoolExecutor(jobs) as threads:
            list(threads.map(lambda _: pool.run(text, fresh=True), range(len(groups) * 2)))
    return pool, round(time.monotonic() - began, 1), told


def measure_tries(count: int, seconds: float = 12.0) -> Row:
    jobs = AT_ONCE * count
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        pool, up, _ = opened(FAULT, Path(folder), names()[:count], jobs, reuse=False)
        began, runs = time.monotonic(), []

        def one(_: int) -> None:
            while time.monotonic() < began + seconds:
                runs.append(pool.run(FAULT))

        with ThreadPoolExecutor(jobs) as threads:
            list(threads.map(one, range(jobs)))
        took = time.monotonic() - began
        pool.close()
    each = sorted(run.seconds for run in runs)
    return {
        "lanes": jobs,
        "up, s": up,
        "tries": len(runs),
        "a second": round(len(runs) / took, 2),
        "median, s": round(each[len(each) // 2], 2),
        "faulted": sum(run.driver_error == 700 for run in runs),
        "said nothing": sum(bool(run.trouble) for run in runs),
    }


def shrunk(text: str, *options: str, count: int | None = None, limit: float = LIMIT) -> Row:
    """What `shrink` makes of a program on so many GPUs."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        path = Path(folder, "program.py")
        path.write_text(text)
        words = [
            *options,
            *(["--gpus", str(count)] if count else []),
            "--no-report",
            "--final-runs",
            "1",
        ]
        command = [sys.executable, "-m", "shrinkray_gpu", str(path), *words, "--json"]
        began = time.monotonic()
        done = run_alone(command, limit, cwd=folder)
        events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        said = [event["text"] for event in events if event.get("event") == "line" or "text" in event][:40]
        repro = path.with_name("repro_program.py")
        made = repro.read_text() if repro.exists() else ""
    last = events[-1] if events else {}
    return {
        "seconds": round(time.monotonic() - began, 1),
        "exit": done.returncode,
        "said": said,
        "error": done.stderr[-600:],
        "repro": made,
        "sha": hashlib.sha256("\n".join(x for x in made.splitlines() if not x.startswith("#")).encode()).hexdigest()[
            :12
        ],
        "result": {key: last[key] for key in ("tries", "seconds", "ended", "after", "mode", "fault") if key in last},
    }


def measure_reduction(count: int) -> Row:
    row = shrunk(
        BOUND, "--oracle", "illegal memory access", "--skip-pass", "lift", "--no-credit", "--mode", "fork",
        "--jobs", "24", "--max-time", "115", count=count,
    )  # fmt: skip
    result = row["result"]
    lanes, search = result.get("tries", {}).get("lane", 0), result.get("seconds", {}).get("search", 0)
    return {**row, "tries in lanes": lanes, "a second": round(lanes / search, 2) if search else None}


def measure_flaky(count: int) -> Row:
    from shrinkray_gpu.judging.repetition import FlakyTest, measure
    from shrinkray_gpu.oracle import parse
    from shrinkray_gpu.oracle.statistics import Rate

    jobs, times, told = AT_ONCE * count, {}, {}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        Path(folder, "luck.py").write_text(LUCK.format(chance=0.1))
        clean = FLAKY.replace("luck.buffer(4)", 'torch.zeros(4, dtype=torch.uint8, device="cuda")')
        oracle = parse("misaligned address", folder=Path(folder))
        pool, up, _ = opened(FLAKY, Path(folder), names()[:count], jobs, reuse=True)
        with ThreadPoolExecutor(jobs) as threads:
            runs = 0

            def asking(text: str) -> Callable[[int], list[Any]]:
                def ask(useful: int) -> list[Any]:
                    nonlocal runs
                    batch = min(max(useful, 1), jobs)
                    runs += batch
                    return [oracle.judge(run) for run in threads.map(lambda _: pool.run(text), range(batch))]

                return ask

            began = time.monotonic()
            rate = measure(asking(FLAKY), runs=200, sightings=10, most=200)
            times["rate"], told["rate"] = time.monotonic() - began, f"{rate.sightings} of {rate.runs}"
            first, test = pool.run(FLAKY), FlakyTest(Rate(20, 200), pool.run(FLAKY))
            del first
            for name, text in (("no", clean), ("yes", FLAKY)):
                began, runs = time.monotonic(), 0
                answers = [test.decide(asking(text), last=True).faults for _ in range(6)]
                times[name], told[name] = time.monotonic() - began, f"{sum(answers)} of 6 yes, {runs} runs"
                told[f"{name}, runs a second"] = round(runs / times[name], 1)
        pool.close()
    return {"lanes": jobs, "up, s": up, **told, "seconds": {name: round(each, 1) for name, each in times.items()}}


def laid_out(folder: Path) -> Path:
    """A corpus of 40 cells."""
    corpus = folder / "corpus"
    for name in CASES:
        for copy in range(COPIES):
            there = corpus / f"{name}_{copy}"
            shutil.copytree(ROOT / "corpus" / name, there)
            for repro in there.glob("repro_*.py"):
                repro.rename(there / f"repro_{name}_{copy}.py")
            case = there / "case.toml"
            case.write_text(
                case.read_text()
                .replace(f'"{name}"', f'"{name}_{copy}"')
                .replace(f"repro_{name}.py", f"repro_{name}_{copy}.py")
            )
    return corpus


def replayed(visible: Sequence[str], *words: str, patched: Sequence[str] = ()) -> Row:
    """A replay of the 40 cells. `patched`: GPUs that it takes for those of the host."""
    start = (
        "import sys\nfrom shrinkray_gpu.corpus import replayer\n"
        f"replayer.usable = lambda *_: ({tuple(patched)!r}, False)\n"
        "from shrinkray_gpu.cli.main import main\nmain()"
    )
    run = ["-c", start] if patched else ["-m", "shrinkray_gpu"]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        corpus = laid_out(Path(folder))
        began = time.monotonic()
        command = [sys.executable, *run, "replay", str(corpus), "--json", *words]
        done = run_alone(command, LIMIT, cwd=folder, CUDA_VISIBLE_DEVICES=",".join(visible))
    return {"seconds": round(time.monotonic() - began, 1), **outcomes(done)}


def outcomes(done: subprocess.CompletedProcess[str]) -> Row:
    try:
        told = json.loads(done.stdout)
    except ValueError:
        return {"exit": done.returncode, "error": (done.stderr + done.stdout)[-1500:]}
    found: dict[str, int] = {}
    spent = 0.0
    for case in every_case(told):
        found[case["status"]] = found.get(case["status"], 0) + 1
        spent += case.get("seconds", 0)
    return {"exit": done.returncode, "found": found, "of cells, s": round(spent, 1), "said": done.stderr[-1500:]}


def every_case(told: Any) -> list[Row]:
    """The outcomes in what a replay prints, wherever they are."""
    if isinstance(told, dict) and "status" in told:
        return [told]
    parts = told.values() if isinstance(told, dict) else told if isinstance(told, list) else ()
    return [case for part in parts for case in every_case(part)]


def measure_replay(count: int, lost: bool) -> Row:
    here, jobs = names()[:count], ("--jobs", str(AT_ONCE * count), "--runs", "2")
    if not lost:
        return replayed(here, *jobs)
    return replayed(here, *jobs, patched=[*here[:1], LOST, *here[1:]])


def measure_shards(count: int) -> Row:
    began = time.monotonic()
    with ThreadPoolExecutor(count) as threads:
        one = [
            threads.submit(replayed, [name], "--jobs", str(AT_ONCE), "--runs", "2", "--shard", f"{index}/{count}")
            for index, name in enumerate(names()[:count], 1)
        ]
        shards = [each.result() for each in one]
    return {"seconds": round(time.monotonic() - began, 1), "shards": shards}


def measure_ray(count: int, lost: bool) -> Row:
    here = names()[:count]
    return replayed([*here[:1], LOST, *here[1:]] if lost else here, "--runs", "2", "--ray", "local")


def measured(case: str) -> Row:
    kind, _, what = case.partition("/")
    count, lost = int(what.partition("+")[0] or 0), what.endswith("+lost")
    counted = {
        "contexts": measure_contexts,
        "tries": measure_tries,
        "reduce": measure_reduction,
        "flaky": measure_flaky,
        "shards": measure_shards,
    }
    if kind in counted:
        return counted[kind](count)
    if kind == "replay":
        return measure_replay(count, lost)
    if kind == "ray":
        return measure_ray(count, lost)
    spec = "exception:ValueError:Pointer argument" if kind == "peer" else "illegal memory access"
    words = ["--oracle", spec, "--jobs", "12", "--max-time", "60"]
    lift = ["--skip-pass", "lift"] if kind == "nccl" else []
    return shrunk({"peer": PEER, "table": TABLE, "nccl": NCCL}[kind], *words, *lift)


def run_alone(
    command: Sequence[str], limit: float, cwd: str | None = None, **more: str
) -> subprocess.CompletedProcess[str]:
    """A command in a session of its own, all of which ends with it or after so many seconds."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
        environment = {**os.environ, **QUIET, "PYTHONPATH": path, **more}
        process = subprocess.Popen(command, cwd=cwd, env=environment, stdout=out, stderr=err, start_new_session=True)
        try:
            process.wait(limit)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                pass
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
        for stream in (out, err):
            stream.seek(0)
        return subprocess.CompletedProcess(command, process.returncode, out.read(), err.read())


def device() -> Row:
    code = (
        "import json, torch, triton, sys\n"
        "found = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]\n"
        "print(json.dumps([found, torch.__version__, triton.__version__, sys.version.split()[0]]))"
    )
    done = run_alone([sys.executable, "-c", code], 120)
    try:
        return dict(zip(("gpus", "torch", "triton", "python"), json.loads(done.stdout))) | {"cores": os.cpu_count()}
    except ValueError:
        return {"error": done.stderr[-500:]}


def default_cases(counts: Sequence[int]) -> list[str]:
    """The most telling ones first."""
    most = max(counts)
    ends = sorted({min(counts), most})
    return [
        *(f"contexts/{count}" for count in counts),
        *(f"tries/{count}" for count in counts),
        "peer",
        "nccl",
        f"reduce/{most}",
        f"replay/{most}",
        f"replay/{most - 1}+lost",
        f"reduce/{ends[0]}",
        f"replay/{ends[0]}",
        *(f"flaky/{count}" for count in reversed(ends)),
        f"ray/{most}",
        "table",
        f"ray/{most - 1}+lost",
        *(f"{kind}/{count}" for kind in ("reduce", "flaky", "replay") for count in counts if count not in ends),
        f"ray/{min(counts)}",
        f"shards/{most}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE")
    parser.add_argument("--gpus", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--until", type=float, default=3600, help="seconds from now on; what is left then has no row")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        given.json.write_text(json.dumps(measured(given.cases[0])))
        return
    began = time.monotonic()
    kept = json.loads(given.json.read_text()) if given.json.exists() else {"rows": {}}
    kept.setdefault("device", device())
    rows = kept["rows"]
    for case in given.cases or default_cases(given.gpus):
        left = given.until - (time.monotonic() - began)
        if left < 25 or case in rows and "failed" not in rows[case]:
            continue
        with tempfile.TemporaryDirectory() as folder:
            told = Path(folder, "row.json")
            started = time.monotonic()
            command = [sys.executable, __file__, case, "--one", "--json", str(told)]
            done = run_alone(command, min(LIMIT + 20, left))
            took = round(time.monotonic() - started, 1)
            failed = {"failed": f"exit {done.returncode}", "error": done.stderr[-2000:]}
            rows[case] = {**(json.loads(told.read_text()) if told.exists() else failed), "took, s": took}
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps(kept, indent=1) + "\n")
        shown = {key: value for key, value in rows[case].items() if key not in ("said", "repro", "error")}
        print(f"{time.monotonic() - began:5.0f} s {case}: {json.dumps(shown)[:400]}", flush=True)


if __name__ == "__main__":
    main()

"""Which parts of a core dump of the GPU cuda-gdb needs to name the kernel and the instruction, and what each costs.

    python benchmarks/core_dumps.py [FILE.py ...] [--json results/core_dumps_h200.json]

Each file faults on the GPU. It runs in a fork of a process that has imported torch and Triton, once without a dump and
once for each set of flags; its kernels are compiled the first time only. `dumped` are the seconds until the file grows
no more, and `ended` those until the process ends, both from its start. `process` says whether it goes on after the dump
(then it waits for the file as a lane does) or the driver aborts it. The cheapest set that tells the instruction of each
file is what `LIGHT` in shrinkray_gpu/device/nvidia/coredump.py should be.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import runpy
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from shrinkray_gpu.device.nvidia import coredump  # noqa: E402
from shrinkray_gpu.runner.inside.process import device  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
FILES = (
    ROOT / "corpus/tma_misaligned/failing.py",
    ROOT / "benchmarks/programs/vector_hint/smallest.py",
    ROOT / "benchmarks/programs/beam_assert/smallest.py",
)
MEMORY = ("skip_global_memory", "skip_shared_memory", "skip_local_memory")
PARTS = ("skip_nonrelocated_elf_images", *MEMORY, "skip_constbank_memory")
LONG = 60.0
"""Seconds after which a process is killed."""


def flag_sets() -> Iterator[tuple[str, tuple[str, ...], Mapping[str, str]]]:
    """Name, flags, and variables beside them."""
    yield "everything", (), {}
    yield "LIGHT", coredump.LIGHT, {}
    yield "LIGHT, no variable", coredump.LIGHT, {"CUDA_ENABLE_LIGHTWEIGHT_COREDUMP": "0"}
    yield "LIGHT with constants", tuple(each for each in coredump.LIGHT if each != PARTS[-1]), {}
    yield "no memory", MEMORY, {}
    for part in PARTS:
        yield f"only {part}", (part,), {}
    for part in MEMORY:
        yield f"LIGHT but for {part}", tuple(each for each in coredump.LIGHT if each != part), {}


def environment(core: Path, flags: tuple[str, ...], more: Mapping[str, str], *, abort: bool) -> dict[str, str]:
    """As `coredump.environment` has it, with these flags."""
    given = {**coredump.environment(core), **more}
    flags = (*flags, *(() if abort else ("skip_abort",)))
    return {**given, **({"CUDA_COREDUMP_GENERATION_FLAGS": ",".join(flags)} if flags else {})}


def child(path: Path, given: Mapping[str, str], said: Path) -> None:
    """Run the file to its end. Never returns."""
    code = 0
    try:
        os.environ.update(given)
        with said.open("wb") as words:
            os.dup2(words.fileno(), 1)
            os.dup2(words.fileno(), 2)
        sys.argv = [str(path)]
        runpy.run_path(str(path), run_name="__main__")
    except BaseException as error:  # whatever it is: the dump tells of it
        code = 1
        os.write(2, f"{type(error).__name__}: {error}\n".encode())
    if "CUDA_COREDUMP_FILE" in given:
        device.wait_for_dump(device.sticky())
    os._exit(code)


def run(path: Path, given: Mapping[str, str], core: Path, said: Path) -> dict[str, Any]:
    """What one run took, and how it ended."""
    started = time.monotonic()
    pid = os.fork()
    if not pid:
        child(path, given, said)
    size, first, grown, status = 0, 0.0, 0.0, 0
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        now, there = time.monotonic() - started, core.stat().st_size if core.exists() else 0
        if there != size:
            size, first, grown = there, first or now, now
        if ended:
            break
        if now > LONG:
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)
    code = os.waitstatus_to_exitcode(status)
    return {"ended": round(now, 2), "begun": round(first, 2), "dumped": round(grown, 2), "bytes": size, "exit": code}


def told(tool: Path, core: Path) -> dict[str, Any]:
    """What cuda-gdb says of the dump."""
    started = time.monotonic()
    dump = coredump.read(tool, core) if core.exists() else None
    seen: dict[str, Any] = {"read": round(time.monotonic() - started, 2)}
    if dump is not None:
        seen |= {"kernel": dump.kernel, "instruction": dump.instruction, "precise": dump.precise, "line": dump.line}
    return seen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    tool = coredump.find(sys.executable, os.environ)
    if tool is None:
        raise SystemExit("cuda-gdb is not here")
    for name in ("torch", "triton", "triton.language"):
        importlib.import_module(name)
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        core, said = Path(folder, "core"), Path(folder, "said")
        os.environ["TRITON_CACHE_DIR"] = folder
        for path in (each.resolve() for each in options.files or FILES):
            for again in ("cold", "plain"):
                row = {"file": path.parent.name, "set": again, **run(path, {}, core, said)}
                rows.append({**row, "words": said.read_text(errors="replace").strip()[-300:]})
                print(f"\n{path.parent.name}, no dump, {again}: {row['ended']} s, exit {row['exit']}", flush=True)
            for name, flags, more in flag_sets():
                for abort in (False, True):
                    core.unlink(missing_ok=True)
                    row = {"file": path.parent.name, "set": name, "abort": abort, "flags": flags}
                    row |= run(path, environment(core, flags, more, abort=abort), core, said)
                    rows.append(row | told(tool, core))
                    print(line(rows[-1]), flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


def line(row: Mapping[str, Any]) -> str:
    """One row of the table."""
    process = "aborted" if row["abort"] else "goes on"
    seen = f"{row['kernel']} {row['instruction'] or '?'}" if "kernel" in row else "nothing"
    times = f"dumped {row['dumped']:6.2f}, ended {row['ended']:6.2f} s, read {row['read']:5.2f} s"
    return f"{row['set']:36} {process}  {row['bytes'] / 1e6:8.2f} MB  {times}  {seen}"


if __name__ == "__main__":
    main()

"""CUDA C++ extensions on a real GPU: the same record from 40 lines, a fault that leftovers bring on with its rate.

One after the other, each searching for CUDA_SECONDS at most: a GPU makes no more contexts for two. What comes before
takes 40 s, what comes after 15 to 30 s. What there is of each lies in $OUT/cuda at any moment.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from shrinkray_gpu.device import sanitizer_records
from shrinkray_gpu.device.record import Record

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(
        shutil.which("nvcc") is None and not Path("/usr/local/cuda/bin/nvcc").exists(), reason="no nvcc here"
    ),
]

ORIGINALS = Path(__file__).parent / "cuda"
OUT = Path(os.environ.get("OUT", "build/gpu")).absolute() / "cuda"
SECONDS = int(os.environ.get("CUDA_SECONDS", 400))
AFTER = 110
"""Seconds that all but the search may take; then the reduction is stopped, and what it has is looked at."""


def reduced(name: str, folder: Path, *options: str, argv: tuple[str, ...] = ()) -> Path:
    target = OUT / name
    target.mkdir(parents=True, exist_ok=True)
    output = folder / "repro.py"
    command = [sys.executable, "-m", "shrinkray_gpu", str(ORIGINALS / f"{name}.py"), *options]
    command += [
        "--output",
        str(output),
        "--max-time",
        str(SECONDS),
        "--no-report",
        "--restart",
        "--cu",
    ]
    until = time.monotonic() + SECONDS + AFTER
    with (target / "said.txt").open("w") as said:
        job = subprocess.Popen([*command, "--", *argv], stdout=said, stderr=subprocess.STDOUT, cwd=folder)
        while job.poll() is None and time.monotonic() < until:
            try:
                job.wait(10)
            except subprocess.TimeoutExpired:
                leave(folder, target)
        if job.poll() is None:
            job.kill()
    leave(folder, target)
    print((target / "said.txt").read_text()[-3000:])
    best = output if output.exists() else folder / f"{name}.shrink" / "best.py"
    print(best.read_text())
    assert job.wait() == 0
    assert "repro.cu builds with plain nvcc, and shows the same" in (target / "said.txt").read_text()
    return output


def leave(folder: Path, target: Path) -> None:
    made = folder / f"{target.name}.shrink"
    for path in (
        folder / "repro.py",
        folder / "repro.cu",
        *(made / name for name in ("best.py", "journal.jsonl", "result.json")),
    ):
        if path.exists():
            shutil.copy(path, target)


def test_a_wmma_load_of_local_memory(tmp_path: Path) -> None:
    """The compiler warns that it cannot do it, and with CUDA 13 puts a trap in its place."""
    options = ("--oracle", "unspecified launch failure", "--final-runs", "3")
    with ThreadPoolExecutor(1) as beside:  # torch builds that one for a minute
        original = beside.submit(first_record, ORIGINALS / "wmma_local_memory.py", "--profile")
        repro = reduced("wmma_local_memory", tmp_path, *options, argv=("--profile",))
    assert "load_matrix_sync" in repro.read_text()
    assert lines(repro) <= 40
    theirs, own = original.result(), first_record(repro)
    print(f"the original's first record:\n{theirs.device_text}\nthe repro's:\n{own.device_text}")
    assert own.kind == theirs.kind
    assert own.file in ("", theirs.file), "without -lineinfo a record names no file"


def test_a_misaligned_load_now_and_then(tmp_path: Path) -> None:
    repro = reduced("fa_intermittent_misaligned", tmp_path, "--oracle", "misaligned address", "--final-runs", "6")
    assert "<<<" in repro.read_text() or "_compile_kernel" in repro.read_text()
    assert lines(repro) <= 60
    held = json.loads((OUT / "fa_intermittent_misaligned/result.json").read_text())["held"]
    assert held["zeroed-shared"].startswith("passes"), "it still reads what nobody had written yet"


def first_record(path: Path, *argv: str) -> Record:
    tool = sanitizer_records.find(sys.executable, os.environ)
    assert tool is not None
    command = [str(tool), "--tool", "memcheck", sys.executable, str(path), *argv]
    done = subprocess.run(command, capture_output=True, text=True, cwd=path.parent)
    return sanitizer_records.records(done.stdout, "memcheck")[0]


def lines(path: Path) -> int:
    return sum(1 for line in path.read_text().splitlines() if line.strip())

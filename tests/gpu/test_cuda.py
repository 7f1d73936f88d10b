"""CUDA C++ extensions on a real GPU: the same record from 40 lines, a flaky fault with its rate.

Each program is reduced for SECONDS at most and leaves its result in $OUT, whatever came of it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(
        shutil.which("nvcc") is None and not Path("/usr/local/cuda/bin/nvcc").exists(), reason="no nvcc"
    ),
]

ROOT = Path(__file__).parents[2]
OUT = Path(os.environ.get("OUT", "build/gpu")).absolute()
SECONDS = {"wmma_local_memory": 240, "fa_intermittent_misaligned": 130}


def reduced(name: str, folder: Path, *options: str, argv: tuple[str, ...] = ()) -> None:
    output = folder / f"repro_{name}.py"
    command = [sys.executable, "-m", "shrinkray_gpu", str(ROOT / "corpus" / name / "failing.py"), *options]
    command += ["--output", str(output), "--max-time", str(SECONDS[name]), "--final-runs", "2", "--restart"]
    done = subprocess.run([*command, "--", *argv], capture_output=True, text=True, cwd=folder, timeout=600)
    target = OUT / "cuda" / name
    target.mkdir(parents=True, exist_ok=True)
    (target / "stdout.txt").write_text(done.stdout)
    (target / "stderr.txt").write_text(done.stderr)
    for found in (output, folder / "failing.shrink" / "best.py", folder / "failing.shrink" / "journal.jsonl"):
        if found.exists():
            shutil.copy(found, target)
    print(f"{name}: exit {done.returncode}\n{done.stdout[-2500:]}\n{done.stderr[-1500:]}")
    if output.exists():
        print(output.read_text())
    assert done.returncode == 0


def test_a_wmma_load_of_local_memory(tmp_path: Path) -> None:
    oracle = "sanitizer:memcheck:Invalid __local__ read"
    reduced("wmma_local_memory", tmp_path, "--oracle", oracle, argv=("--profile",))
    assert lines(tmp_path / "repro_wmma_local_memory.py") <= 40


def test_a_misaligned_load_now_and_then(tmp_path: Path) -> None:
    reduced("fa_intermittent_misaligned", tmp_path, "--oracle", "misaligned address")
    assert lines(tmp_path / "repro_fa_intermittent_misaligned.py") <= 60


def lines(path: Path) -> int:
    return sum(1 for line in path.read_text().splitlines() if line.strip())

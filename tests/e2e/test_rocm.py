"""A reduction on a machine with ROCm that we made after its documents, with a module in the place of HIP."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.e2e.command import only
from tests.rocm_host import made_host, shrink_on

PROGRAM = """\
import hip

ROWS = 48
STRIDE = 16


def checked(name, rows, stride):
    held = rows * 4
    for part in range(3):
        if part == 2:
            hip.launch(name, held, rows * stride)
    return held


print("begin")
total = checked("scale_rows", ROWS, STRIDE)
print("end", total)
"""


def test_a_memory_fault_of_amds_is_reduced_by_processes(tmp_path: Path) -> None:
    host, work = tmp_path / "host", tmp_path / "work"
    host.mkdir()
    work.mkdir()
    made_host(host)
    (work / "failing.py").write_text(PROGRAM)
    environment = {**os.environ, "PYTHONPATH": f"{Path(__file__).parents[2]}:{host / 'packages'}"}
    asked = [*shrink_on(host), "failing.py", "--oracle", "Memory access fault by GPU node", *only("statements")]
    done = subprocess.run(asked, cwd=work, env=environment, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    assert "never run on such a GPU" in done.stderr and "not used: gfx90a" in done.stderr
    assert "in a new process each" in done.stderr
    assert "device fault: Memory access fault by GPU node (HSA status 0x2b) in kernel scale_rows" in done.stdout
    card = " ".join((work / "failing.shrink" / "artifacts" / "card.txt").read_text().split())
    assert "memory violation in scale_rows, by ROCm's debug agent (by AMD's documents, never run by us)" in card
    assert "memcheck missing: compute-sanitizer is NVIDIA's, and the GPU here is AMD's" in card
    assert "CUDA error" not in (work / "failing.shrink" / "ISSUE.md").read_text()
    assert "print" not in (work / "repro_failing.py").read_text()

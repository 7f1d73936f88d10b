"""A sweep on a real GPU: a misaligned access that comes always, sometimes, never; the configurations do not mix."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.gpu

ROOT = Path(__file__).parents[2]
RUNS = 8
SCRIPT = """\
import os

import torch
import triton
import triton.language as tl

CHANCE = 0.5


@triton.jit
def gather(bytes_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    words = bytes_ptr.to(tl.pointer_type(tl.int32))
    tl.store(out_ptr + at, tl.load(words + at, mask=at < n, other=0), mask=at < n)


def main(n=512):
    # Two bytes off is no place for an int32.
    shift = 2 if int.from_bytes(os.urandom(4), "big") < CHANCE * 2**32 else 0
    raw = torch.zeros(4 * n + 16, dtype=torch.uint8, device="cuda")[shift:]
    out = torch.empty(n, dtype=torch.int32, device="cuda")
    gather[(triton.cdiv(n, 256),)](raw, out, n, BLOCK=256, num_warps=4)
    torch.cuda.synchronize()
    assert out.sum().item() == 0


main()
"""


def test_always_sometimes_never(tmp_path: Path) -> None:
    script = tmp_path / "gather.py"
    script.write_text(SCRIPT)
    words = ["sweep", script, "--oracle", "misaligned address", "--over", "CHANCE=0,0.5,1", "--over", "num_warps=4,8"]
    command = [sys.executable, "-m", "shrinkray_gpu", *map(str, words), "--runs", str(RUNS)]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}"}
    started = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    print(done.stdout, done.stderr[-2000:], f"{6 * RUNS} runs in {time.monotonic() - started:.1f} s")
    assert done.returncode == 0
    folder = tmp_path / "gather.sweep" / "001"
    if out := os.environ.get("OUT"):
        for name in ("matrix.csv", "matrix.svg", "matrix.md"):
            (Path(out) / f"sweep_{name}").write_text((folder / name).read_text())
    matrix = json.loads((folder / "matrix.json").read_text())
    seen = {chance: [0, 0] for chance in ("0", "0.5", "1")}
    for cell in matrix["cells"]:
        seen[cell["settings"]["CHANCE"]][0] += cell["faults"]
        seen[cell["settings"]["CHANCE"]][1] += cell["runs"]
        assert cell["unknown"] == 0 and not cell["others"], cell
    assert seen["0"] == [0, 2 * RUNS]
    assert seen["1"] == [2 * RUNS, 2 * RUNS]
    assert 0 < seen["0.5"][0] < 2 * RUNS  # fails for a sound program once in 33,000 times

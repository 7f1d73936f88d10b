"""A kernel that spins for ever, on a real GPU: told from a host that loops, and reduced to the spinning alone."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from shrinkray_gpu.events import printed_result
from shrinkray_gpu.oracle import parse
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script

pytestmark = pytest.mark.gpu

ROOT = Path(__file__).parents[2]

HEAD = """\
import torch
import triton
import triton.language as tl


@triton.jit
def fill(x, value, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, value, mask=at < n)


@triton.jit
def wait_for(flag, out):
    v = tl.load(flag, volatile=True)
    while v == 0:
        v = tl.load(flag, volatile=True)
    tl.store(out, v)


def main():
    rows = [2 * i for i in range(8)]
    print("rows", rows)
    data = torch.zeros(512, dtype=torch.float32, device="cuda")
    fill[(4,)](data, 3.0, 512, BLOCK=128)
    torch.cuda.synchronize()
    print("sum", data.sum().item())
    flag = torch.zeros(1, dtype=torch.int32, device="cuda")
    out = torch.zeros(1, dtype=torch.int32, device="cuda")
"""
SPINS = HEAD + "    wait_for[(1,)](flag, out)\n    print(out.item())\n\n\nmain()\n"
ON_A_STREAM = (
    HEAD + "    with torch.cuda.stream(torch.cuda.Stream()):\n        wait_for[(1,)](flag, out)\n"
    "    while True:\n        pass\n\n\nmain()\n"
)
NEVER_WAITED_FOR = HEAD + "    wait_for[(1,)](flag, out)\n\n\nmain()\n"
LOOPS = HEAD + "    while True:\n        pass\n\n\nmain()\n"
LAUNCHES_FOR_EVER = HEAD + "    while True:\n        fill[(4,)](data, 3.0, 512, BLOCK=128)\n\n\nmain()\n"


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = {**os.environ, "TRITON_CACHE_DIR": str(folder / "triton")}
        setup = Setup(sys.executable, environment, ("torch", "triton"), (), name, (name,), warm=True, reuse=True)
        script = Script(folder / "script.py", cwd=folder, tell=True)
        made = Pool(script, setup, mode="fork", jobs=1, seconds=8, extra=20)
        made.start(HEAD)
        yield made
        made.close()


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (SPINS, "device"),
        (ON_A_STREAM, "device"),
        (NEVER_WAITED_FOR, "left"),
        (LOOPS, "host"),
        (LAUNCHES_FOR_EVER, "host"),
    ],
    ids=["spins", "on a stream", "never waited for", "loops", "launches for ever"],
)
def test_who_hangs(pool: Pool, source: str, expected: str) -> None:
    run = pool.run(source)
    print(run.hanging, run.seconds, len(run.launches), run.trouble, run.stderr[-500:])
    assert (run.timed_out, run.hanging) == (True, expected)
    assert {launch.kernel for launch in run.launches} == ({"fill", "wait_for"} if expected != "host" else {"fill"})


def test_a_cold_process_is_not_given_all_the_time_for_its_imports(pool: Pool) -> None:
    run = pool.cold(SPINS)
    print(run.hanging, run.seconds, run.trouble, run.stderr[-500:])
    assert (run.timed_out, run.hanging, run.mode) == (True, "device", "cold")
    assert pool.seconds < run.seconds < pool.seconds + pool.extra


def test_the_next_candidate_gets_a_gpu_that_works(pool: Pool) -> None:
    assert pool.run(SPINS).timed_out
    run = pool.run(HEAD + "\n\nmain()\n")
    assert (run.exit, run.driver_error, run.failure) == (0, 0, None)


def test_a_spinning_kernel_is_reduced_and_named(pool: Pool, tmp_path: Path) -> None:
    (tmp_path / "spins.py").write_text(SPINS)
    repro = tmp_path / "repro.py"
    words = (str(tmp_path / "spins.py"), "--oracle", "hang:5", "-o", str(repro), "--final-runs", "2", "--json")
    command = [sys.executable, "-m", "shrinkray_gpu", *words, "--no-report"]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)
    if out := os.environ.get("OUT"):
        (Path(out) / "hang.txt").write_text(done.stdout + done.stderr)
    assert done.returncode == 0, done.stderr[-3000:]
    text = printed_result(done.stdout)["text"]
    print(text)
    assert "while" in text and "@triton.jit" in text, "the spinning is left"
    assert "fill" not in text and "rows" not in text
    assert len(text.splitlines()) <= 16
    verdict = parse("hang:5", folder=tmp_path).judge(pool.run(text))
    assert re.fullmatch(r"kernel (wait_for|kernel) does not end within 5 s", verdict.why)

"""The last record is there although the process did not live to report it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from dataclasses import replace

import pytest

from shrinkray_gpu import lift
from shrinkray_gpu.runner.pool import Pool

HEAD = "import os, signal, torch, triton, triton.language as tl\n"
KERNEL = """
@triton.jit
def fill(x, n, N: tl.constexpr):
    tl.store(x + tl.arange(0, N), n)

x = torch.zeros(64, device="cuda")
for n in range(3, 8):
    fill[lambda meta: (n, meta["N"] // 8)](x, n, N=32)
"""


@pytest.fixture(scope="module")
def impatient(pool: Pool) -> Iterator[Pool]:
    """Stops a run early: these scripts hang on purpose."""
    lanes = Pool(pool.script, replace(pool.setup), mode="virtual", jobs=1, seconds=10)
    yield lanes
    lanes.close()


@pytest.mark.parametrize(
    ("end", "how"),
    [("os._exit(3)", 3), ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL), ("os.abort()", -signal.SIGABRT)],
)
def test_a_process_that_dies_leaves_its_last_launch(pool: Pool, end: str, how: int) -> None:
    run = pool.run(f"{HEAD}{KERNEL}{end}\n", capture="launch")
    assert (run.exit if run.signal is None else -run.signal) == how
    # One kind of launch was written down in full; grid and scalars are those of the last one all the same.
    assert "fill[(7, 4)](x, 7, N=32)" in lift.candidates(run)[0]
    assert len(run.captured["launches"]) == 1 if run.captured else False


def test_a_hang_that_the_tool_ends_leaves_it_too(impatient: Pool) -> None:
    run = impatient.run(f"{HEAD}{KERNEL}while True: pass\n", capture="launch")
    assert run.timed_out and "fill[(7, 4)](x, 7, N=32)" in lift.candidates(run)[0]


ABORTS = """
@triton.jit
def fma(x, y):
    return tl.inline_asm_elementwise(
        "fma.rn.f32 $0, $1, $2, $1;", "=r,r,r,r", [x, y], dtype=tl.float32, is_pure=True, pack=1
    )

@triton.jit
def scale(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, fma(tl.load(x + i), 2.0))

scale[lambda meta: (64 // meta["N"],)](x, torch.empty_like(x), N=16)
"""


def test_an_abort_in_the_compiler_leaves_the_launch_that_was_being_compiled(pool: Pool) -> None:
    original = pool.run(f"{HEAD}{KERNEL}{ABORTS}", capture="launch")
    assert original.signal == signal.SIGABRT
    text = lift.candidates(original)[0]
    assert "scale[(4,)](x, out, N=16)" in text
    assert pool.run(text).signal == signal.SIGABRT


def test_a_process_that_dies_before_its_first_launch_leaves_nothing(pool: Pool) -> None:
    assert pool.run(f"{HEAD}os._exit(0)\n", capture="launch").captured is None


def test_nothing_is_written_without_capture(pool: Pool) -> None:
    run = pool.run(f"{HEAD}{KERNEL}import tempfile\nprint(os.listdir(tempfile.gettempdir()))\nos._exit(1)\n")
    assert run.captured is None
    assert ".captured" not in run.stdout


def test_a_kernel_is_described_once_however_often_it_is_launched(pool: Pool) -> None:
    """Other addresses, other scalars: still one kind of launch, and one description of its source."""
    loop = 'for n in range(2, 300):\n    fill[(1,)](torch.zeros(64, device="cuda")[n % 4 * 16 :], n, N=16)\n'
    listing = """
import glob, tempfile
[lines] = glob.glob(tempfile.gettempdir() + "/.captured/*.jsonl")
print(sum('"record"' in line for line in open(lines)), len(list(open(lines))))
"""
    run = pool.run(f"{HEAD}{KERNEL}{loop}{listing}", capture="launch")
    kinds, lines = map(int, run.stdout.split())
    assert kinds == lines - 1  # the first line says which process it is
    # N=32; N=16 with n a multiple of 16 or not, on views of four lengths.
    assert kinds <= 1 + 2 * 4

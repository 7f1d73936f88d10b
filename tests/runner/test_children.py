"""A fault in a process that the script starts is seen, and that process runs the candidate, not the original."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from shrinkray_gpu.oracle import Fault, parse
from shrinkray_gpu.runner.children import faults
from shrinkray_gpu.runner.plain import run_file
from shrinkray_gpu.runner.pool import Pool
from shrinkray_gpu.runner.run import Failure
from tests.runner.test_lanes import make

SPAWNS = """
import torch.multiprocessing as mp

def work(rank):
    raise RuntimeError("CUDA error: misaligned address")

if __name__ == "__main__":
    mp.spawn(work, nprocs=1)
"""


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[Pool]:
    made = make(tmp_path)
    made = made.on(replace(made.terms, seconds=60))
    yield made
    made.close()


def test_a_fault_in_a_spawned_process_is_the_script_s(pool: Pool, tmp_path: Path) -> None:
    pool.script.path.write_text("raise SystemExit('the original')")
    run = pool.run(SPAWNS)
    assert run.children == ("RuntimeError: CUDA error: misaligned address",)
    assert parse("misaligned address", folder=tmp_path).judge(run).faults
    assert not parse("an illegal memory access", folder=tmp_path).judge(run).faults


def test_a_fault_of_a_program_that_the_script_calls(pool: Pool) -> None:
    program = "raise RuntimeError('CUDA error: misaligned address')"
    run = pool.run(f"import subprocess\nsubprocess.run([{sys.executable!r}, '-c', {program!r}], check=True)")
    assert run.children == ("RuntimeError: CUDA error: misaligned address",)


def test_words_of_the_script_itself_are_no_child_s() -> None:
    assert faults(Failure("RuntimeError", "CUDA error: misaligned address"), "") == ()
    assert faults(None, "RuntimeError: CUDA error: misaligned address") == ()


JOINED = """
import multiprocessing

def work():
    raise ValueError("no such shard")

worker = multiprocessing.get_context("fork").Process(target=work)
worker.start()
worker.join()
raise RuntimeError("a worker failed")
"""


AFTERWARDS = (
    JOINED.replace("worker.join()", "atexit.register(over.set)")
    .replace("import multiprocessing\n", "import atexit, multiprocessing\n\nover = multiprocessing.Event()\n")
    .replace("    raise", "    over.wait()\n    raise")
)
"""The child dies when the script has said its last word: two processes that speak at once may mix their lines."""


@pytest.mark.parametrize("script", [SPAWNS, JOINED, AFTERWARDS])
def test_a_plain_process_tells_the_same_fault_as_a_lane(script: str, pool: Pool, tmp_path: Path) -> None:
    """The final check runs `python FILE`, and must know the fault that the lanes saw."""
    path = tmp_path / "failing.py"
    path.write_text(script)
    plain = run_file(sys.executable, path, (), environment=dict(os.environ), cwd=tmp_path, seconds=60)
    pool.script.path.write_text(script)
    lane, told = Fault.of(pool.run(script)), Fault.of(plain)
    assert lane is not None and told is not None
    assert lane.difference(told) == "" == told.difference(lane)


def test_a_child_that_dies_after_the_script_is_not_what_it_died_of(pool: Pool) -> None:
    before, after = Fault.of(pool.run(JOINED)), Fault.of(pool.run(AFTERWARDS))
    assert before is not None and before.child == "ValueError: no such shard"
    assert after is not None and after.child == ""

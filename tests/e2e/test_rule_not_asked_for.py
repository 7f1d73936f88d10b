"""A program that breaks another static rule than the one asked for: it is told of, with the oracle to type."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrinkray_gpu.calibration.absent import rule_broken
from shrinkray_gpu.runner.inside.static.rules import ASKED, RULES
from shrinkray_gpu.runner.pool import Pool
from tests.e2e.command import shrink

BEYOND = """\
import torch
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    tl.store(y_ptr + at, x * 2, mask=at < n)


x = torch.rand(4000, device="cuda")
scale[(4,)](x, torch.empty_like(x), 4000, BLOCK=1024)
torch.cuda.synchronize()
"""
SHIFTED = """\
import torch
import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, y_ptr, BLOCK: tl.constexpr):
    at = tl.multiple_of(tl.program_id(0) * BLOCK + 1, 16) + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at))


x = torch.rand(4096, device="cuda")
copy[(1,)](x, torch.empty_like(x), BLOCK=1024)
torch.cuda.synchronize()
"""
WAIT = "torch.cuda.synchronize()\n"


def told(folder: Path, program: str, *oracle: str) -> str:
    """What is said, in the line of its own that begins so, where the oracle does not hold."""
    pytest.importorskip("triton")
    (folder / "failing.py").write_text(program)
    said = shrink("failing.py", *oracle, "--arch", "sm_90", "--check", cwd=folder)
    assert said.code == 3, said
    start = said.message.index("But the launch of ")
    return said.message[start:].partition("\n")[0]


def test_asked_for_a_misaligned_address_an_access_beyond_its_tensor_is_told(tmp_path: Path) -> None:
    line = told(tmp_path, BEYOND, "--oracle", "misaligned address")
    assert "scale breaks the static rule bounds (an illegal memory access was encountered)" in line
    assert "the load at failing.py:9:16 reaches byte 16380 of a tensor of 16000" in line
    assert line.endswith("; ask for that with --oracle static:bounds")


def test_the_same_where_the_rule_asked_for_cannot_be_decided(tmp_path: Path) -> None:
    line = told(tmp_path, BEYOND.replace("(4,)", "(4096,)"), "--oracle", "misaligned address")
    assert line.endswith("--oracle static:bounds")


def test_a_misaligned_access_is_told_as_such(virtual_pool: Pool) -> None:
    line = rule_broken(virtual_pool.run(SHIFTED, wants=tuple(ASKED + rule.name for rule in RULES)))
    assert "copy breaks the static rule alignment (misaligned address)" in line and "failing.py:9:" in line
    assert line.endswith("--oracle static:alignment")


def test_on_a_gpu_both_ways_to_ask_are_told(virtual_pool: Pool) -> None:
    run = virtual_pool.run(BEYOND, wants=tuple(ASKED + rule.name for rule in RULES))
    assert rule_broken(run, arch=90).endswith(
        "; ask for that with --arch sm_90 --oracle static:bounds, or on this GPU with --oracle sanitizer:memcheck "
        "--env PYTORCH_NO_CUDA_MEMORY_CACHING=1"
    )


@pytest.mark.parametrize("oracle", [("--oracle", "static:bounds"), ()])
def test_a_fault_that_nothing_waits_for(tmp_path: Path, oracle: tuple[str, ...]) -> None:
    line = told(tmp_path, BEYOND.replace(WAIT, ""), *oracle)
    assert "nothing waits for the device afterwards: end with torch.cuda.synchronize(), and ask" in line

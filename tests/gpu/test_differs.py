"""Outputs compared on a real GPU, in lanes whose contexts are reused: what differs and what must not."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from shrinkray_gpu.oracle import parse
from shrinkray_gpu.oracle.verdict import Answer
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script

pytestmark = pytest.mark.gpu

HEAD = """
import torch
import triton
import triton.language as tl

"""
SUM = (
    HEAD
    + """
@triton.jit
def add_up(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr, tl.sum(tl.load(x_ptr + i, mask=i < n, other=0.0)))

add_up[(1,)](torch.randn(4000, device="cuda"), torch.zeros(1, device="cuda"), 4000, BLOCK=4096, num_warps=4)
"""
)
CAST = (
    HEAD
    + """
@triton.jit
def cast(x_ptr, out_ptr):
    i = tl.arange(0, 8)
    tl.store(out_ptr + i, tl.load(x_ptr + i).to(tl.int32))

cast[(1,)](torch.full((8,), 1e20, device="cuda"), torch.zeros(8, dtype=torch.int32, device="cuda"))
"""
)
"""The device saturates; what NumPy does with it the interpreter does."""
CLOCK = (
    HEAD
    + """
@triton.jit
def clock(x_ptr, out_ptr):
    i = tl.arange(0, 32)
    x = tl.load(x_ptr + i)
    t = tl.inline_asm_elementwise("mov.u32 $0, %clock;", "=r,r", [x], dtype=tl.int32, is_pure=False, pack=1)
    tl.store(out_ptr + i, t)

clock[(1,)](torch.zeros(32, dtype=torch.int32, device="cuda"), torch.zeros(32, dtype=torch.int32, device="cuda"))
"""
)
UNWRITTEN = (
    HEAD
    + """
@triton.jit
def double(x_ptr, out_ptr):
    i = tl.program_id(0) * 1024 + tl.arange(0, 1024)
    tl.store(out_ptr + i, tl.load(x_ptr + i) * 2)

junk = torch.rand(1 << 20, device="cuda")
del junk
for n in (1 << 10, 1 << 16, 1 << 20):
    double[(n // 1024,)](torch.empty(n, device="cuda"), torch.empty_like(torch.ones(n, device="cuda")))
"""
)

CASES = [
    ("differs:num_warps=1", SUM, Answer.FAULTS, "kernel add_up, launch 0, argument out_ptr: not equal, within"),
    ("differs:num_stages=1", SUM, Answer.PASSES, ""),
    ("differs:interpreter", CAST, Answer.FAULTS, "kernel cast, launch 0, argument out_ptr: wrong in 8 of 8"),
    ("nondeterministic", CLOCK, Answer.FAULTS, "kernel clock, launch 0, argument out_ptr: wrong"),
    ("nondeterministic", SUM, Answer.PASSES, "the same in 3 runs"),
    ("nondeterministic", UNWRITTEN, Answer.PASSES, "the same in 3 runs"),
    ("differs:num_warps=8", UNWRITTEN, Answer.PASSES, "all outputs are the same"),
    (
        "nondeterministic",
        "import torch\ntorch.ones(3, device='cuda').sum().item()\n",
        Answer.PASSES,
        "no Triton kernel",
    ),
]


@pytest.mark.parametrize("spec, source, answer, why", CASES)
@pytest.mark.parametrize("mode", ["fork", "cold"])
def test_what_differs(tmp_path: Path, mode: str, spec: str, source: str, answer: Answer, why: str) -> None:
    environment = {**os.environ, "TRITON_CACHE_DIR": str(tmp_path / "cache"), "PYTORCH_NVML_BASED_CUDA_CHECK": "1"}
    scratch, imports = str(tmp_path), ("torch", "triton")
    warm = mode == "fork"
    setup = Setup(sys.executable, environment, imports, (), scratch, (scratch,), warm=warm, reuse=warm)
    oracle = parse(spec, folder=Path())
    script = Script(tmp_path / "script.py", cwd=tmp_path, twins=oracle.needs.twins)
    pool = Pool(script, setup, mode=mode, jobs=2, seconds=60)
    try:
        for _ in range(2):  # in a context that a candidate used before as in a fresh one
            run = pool.run(source)
            verdict = oracle.judge(run)
            assert verdict.answer is answer and why in verdict.why, (verdict, run.stderr)
    finally:
        pool.close()

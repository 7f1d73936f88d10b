"""A loop's bound in Triton's interpreter where NumPy refuses `int` of an array with one element."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
AS_IN_3_6 = """
import triton.runtime.interpreter as interpreter

plain = interpreter._patch_lang_tensor

def refuse(value):
    raise TypeError("only 0-dimensional arrays can be converted to Python loopbounds")

def patch(tensor, *scope):
    plain(tensor, *scope)
    tensor.__index__ = refuse

interpreter._patch_lang_tensor = patch
"""
MENDED = """
from shrinkray_gpu.runner.inside.launches import loopbounds

loopbounds._refused = lambda numpy: True
loopbounds.mend()
loopbounds.mend()
"""
LOOP = """
import torch, triton, triton.language as tl

@triton.jit
def total_kernel(x, n, SIZE: tl.constexpr):
    total = tl.zeros([SIZE], tl.float32)
    for start in range(0, n, SIZE):
        total += tl.load(x + start + tl.arange(0, SIZE))
    tl.store(x, tl.sum(total, axis=0))

x = torch.ones(64)
total_kernel[(1,)](x, 64, 16)
print(x[0].item())
"""


@pytest.mark.parametrize(
    "parts, said", [((AS_IN_3_6,), "only 0-dimensional"), ((AS_IN_3_6, MENDED), "64.0"), ((), "64.0")]
)
def test_a_bound_that_is_an_argument(tmp_path: Path, parts: tuple[str, ...], said: str) -> None:
    path = tmp_path / "script.py"
    path.write_text("".join(parts) + LOOP)
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, env=environment)
    assert said in (done.stdout + done.stderr).splitlines()[-1]

"""A program under torch.compile, without a GPU: what is told of its fault, and the one launch that is left."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

import pytest

from shrinkray_gpu.reduction.size import lines
from tests.e2e.command import only, shrink, well

if importlib.util.find_spec("torch") is None or shutil.which("c++") is None:
    pytest.skip("needs torch and a C++ compiler", allow_module_level=True)

PROGRAM = """\
import torch
import triton
import triton.language as tl

@triton.jit
def scale_rows(x_ptr, y_ptr, rows, C: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, C)
    tl.store(y_ptr + row * C + at, tl.load(x_ptr + {read} + at) * 2)

class Layer(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.norm = torch.nn.LayerNorm(n)

    def forward(self, x):
        y = torch.nn.functional.gelu(self.norm(x))
        out = torch.empty_like(y)
        scale_rows[(y.shape[0],)](y, out, y.shape[0] * 4096, C=128)
        return torch.softmax(out + x, -1)

with torch.no_grad():
    torch.compile(Layer(128).cuda())(torch.randn(64, 128, device="cuda"))
torch.cuda.synchronize()
"""


def test_a_launch_that_torch_compile_generated_is_lifted_and_blamed_on_nobody(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(PROGRAM.replace("{read}", "(row + rows) * C"))
    told = " ".join(well(shrink("explain", "model.py", "--arch", "sm_90", cwd=tmp_path)).out.split())
    assert "kernel scale_rows" in told and "an illegal memory access" in told, told
    assert "torch.compile generated the launch: whether that or the program is wrong is not told" in told
    assert "verdict not known" in told and "nothing to report" not in told
    (tmp_path / "model.py").write_text(PROGRAM.replace("{read}", "row * C * 1000"))
    words = ("--arch", "sm_90", "--oracle", "static:bounds", *only("statements"), "--no-guards", "-o", "repro.py")
    well(shrink("model.py", *words, cwd=tmp_path))
    text = (tmp_path / "repro.py").read_text()
    assert "scale_rows[" in text and "compile" not in text and "inductor" not in text and lines(text) <= 16, text

"""An access far outside of its tensor: whether it faults is for what the process has mapped there to decide.

Triton's interpreter, whose kernels read the host's memory, stands for a GPU here.
"""

from __future__ import annotations

import json
from pathlib import Path

from .command import plain, shrink

PROGRAM = """\
import os

os.environ["TRITON_INTERPRET"] = "1"

import torch
import triton
import triton.language as tl


@triton.jit
def gather(x_ptr, out_ptr, stride, count):
    item = tl.program_id(0)
    row = item.to(tl.int64) + 65535
    x = tl.load(x_ptr + row * 262144, mask=item < count, other=0.0)
    tl.store(out_ptr + item, x, mask=item < count)


gather[(1,)](torch.randn(65536, 16), torch.zeros(1), 16, 1)
"""


def test_the_result_leads_where_no_process_has_anything(tmp_path: Path) -> None:
    """Of the smallest number that faults in lanes a clean run showed nothing, and a larger program was the result."""
    (tmp_path / "failing.py").write_text(PROGRAM)
    said = shrink("failing.py", "--oracle", "signal:SIGSEGV", "--no-report", "--json", cwd=tmp_path)
    assert said.code == 0, said.err
    told, repro = json.loads(said.out), tmp_path / "repro_failing.py"
    assert told["verified"] == told["final_runs"] and not told["passed_over"]
    assert "tl.load(x_ptr + 274877906944)\n" in told["text"] == repro.read_text()
    assert "the mask here had become `True`, which keeps nothing out, and is left out itself" in told["guarded"]
    assert "The offset 274877906944 is the search's own" in told["guarded"]
    assert [plain(repro, cwd=tmp_path).returncode for _ in range(2)] == [-11, -11]

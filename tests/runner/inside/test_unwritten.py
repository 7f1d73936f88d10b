"""Memory that nobody wrote: whether the host gets what comes of it, through torch, views, copies and kernels."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")

from shrinkray_gpu.runner.inside.compare.comparison import UNWRITTEN
from tests.runner.inside.test_comparison import checked

SCRIPT = """\
import torch, triton, triton.language as tl

@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n, other=0) + 1, mask=at < n)

def written(n, size=16, kind=torch.float32):
    out = torch.empty(size, dtype=kind)
    rows[(1,)](torch.zeros(size, dtype=kind), out, n, BLOCK=16)
    return out

whole, half = written(16), written(8)
"""
READ = {
    "a number": "half.sum().item()",
    "an element": "half[9].item()",
    "a list": "half.tolist()",
    "an array": "half.numpy()",
    "a branch": "if (half > 0).all():\n    pass",
    "whole numbers": "written(8, kind=torch.int32).tolist()",
    "half precision": "written(8, kind=torch.float16).tolist()",
    "a copy": "half.clone().view(4, 4)[3].tolist()",
    "a sum of both": "(whole + half)[0].item()",
    "what another kernel makes": "out = torch.zeros(16)\nrows[(1,)](half, out, 16, BLOCK=16)\nout[0].item()",
    "what torch fails at": "torch.zeros(4)[written(2, 3, torch.int64)]",
    "new memory like another's": "torch.empty_like(whole).tolist()",
    "memory that is handed out again": "del whole\nagain = torch.empty(16)\nagain.tolist()",
    "a check": "torch.testing.assert_close(half, half.clone())",
}
WRITTEN = {
    "all of it": "whole.tolist()",
    "the part that was written": "half[:8].sum().item()",
    "a copy of that": "half.clone()[:8].tolist()",
    "one after another": "both = torch.empty(2, 16)\nboth[0] = whole\nboth[1].fill_(1)\nboth.tolist()",
    "in place": "torch.empty(16).uniform_().tolist()",
    "by an index": "x = torch.empty(2)\nx[torch.tensor([0, 1])] = 1.0\nx.tolist()",
    "what kernels load": "out = torch.zeros(16)\nrows[(1,)](half, out, 8, BLOCK=16)\nout.sum().item()",
    "into what was given": "out = torch.empty(16)\ntorch.add(whole, 1, out=out)\nout.tolist()",
    "a shape": "x = torch.empty(3, 5)\nassert x.stride(0) == 5 and torch.zeros_like(x).sum().item() == 0",
    "nothing at all": "half + 1",
    "what is not a number": "torch.full((4,), float('nan')).tolist()\nlist((whole * 0 / 0).tolist())",
}


@pytest.mark.parametrize("read", READ.values(), ids=READ)
def test_what_comes_of_it_is_told(tmp_path: Path, read: str) -> None:
    report = checked(tmp_path, read, UNWRITTEN, script=SCRIPT)
    assert report["unwritten"] and not report["trouble"], report


@pytest.mark.parametrize("read", WRITTEN.values(), ids=WRITTEN)
def test_what_was_written_is_not(tmp_path: Path, read: str) -> None:
    report = checked(tmp_path, read, UNWRITTEN, script=SCRIPT)
    assert (report["exit"], report["unwritten"], report["trouble"]) == (0, "", ""), report


def test_nothing_else_of_the_run_changes(tmp_path: Path) -> None:
    """No number is drawn otherwise, and no comparison is looked for."""
    drawn = "import random\nrandom.seed(1)\ntorch.manual_seed(1)\nprint(random.random(), torch.rand(2))\n"
    check = drawn + "raise ValueError('%s %s' % (random.random(), torch.rand(1)))"
    one, other = (checked(tmp_path, check, *wants, script=SCRIPT) for wants in ((UNWRITTEN,), ("nothing",)))
    assert one["failure"]["text"] == other["failure"]["text"] and one["comparison"] is None
    assert (one["unwritten"], other["unwritten"]) == ("", "")

"""What a launch is taken to have written, of a kernel as Triton compiled it."""

from __future__ import annotations

from types import SimpleNamespace

import torch
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from shrinkray_gpu.runner.inside.compare.provenance import Provenance
from shrinkray_gpu.runner.inside.compare.watched_launch import WatchedLaunch


@triton.jit
def halves(x, y, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(y + at, tl.load(x + at) * 0.5)


def test_zeros_that_come_where_zeros_were_are_written() -> None:
    """A loss of which only a term of zero was left was told to come from no kernel (liger, seeded, on an H200)."""
    source = ASTSource(fn=halves, signature={"x": "*fp32", "y": "*fp32", "N": "constexpr"}, constexprs={"N": 16})
    compiled = triton.compile(source, target=GPUTarget("cuda", 90, 32))
    given = {"x": torch.zeros(16), "y": torch.zeros(16), "N": 16}
    provenance = Provenance(torch)
    observer = SimpleNamespace(provenance=provenance, wrote=[], launches={}, refused="", trouble="")
    with WatchedLaunch(observer, (halves.fn, (1,)), [*given.items()], lambda *_: None) as launch:
        launch.ran(compiled, given)
    assert not observer.trouble and [each is given["y"] for each in launch.written] == [True]
    assert [each.data_ptr() for each in launch.read or ()] == [given["x"].data_ptr()]

"""Kernels that end at LLVM's IR, in many releases of Triton: named and judged as those with machine code are."""

from __future__ import annotations

import pytest

from shrinkray_gpu.runner.inside.vgpu import codeless
from tests.versions.conftest import With, each
from tests.versions.test_lift import ALL

pytestmark = [pytest.mark.versions, pytest.mark.timeout(900)]  # the first to ask for a release fetches it

SCRIPT = """
import torch
import triton
import triton.language as tl


@triton.jit(noinline=True)
def helper(v):
    return tl.log(v)


@triton.jit
def kernel(x):
    at = tl.arange(0, 128)
    found = tl.load(x + at)
    tl.store(x + at, tl.log(found) + helper(tl.sum(found, 0)))


compiled = kernel[(1,)](torch.zeros(128, device="cuda"))
print(compiled.metadata.name, compiled.metadata.shared, compiled.metadata.num_warps)
print(compiled.asm["ptx"])
"""


@pytest.mark.parametrize("version", each(ALL))
def test_what_triton_itself_finds_out_is_there_and_nothing_after_it(with_triton: With, version: str) -> None:
    whole, short = (with_triton(version).run(SCRIPT, machine_code=code) for code in (True, False))
    assert short.failure is None, short.stderr
    about, ptx = short.stdout.split("\n", 1)
    assert about == whole.stdout.split("\n", 1)[0] and about.startswith("kernel 16 ")
    assert ptx.strip() == f".visible .entry kernel( // {codeless.NOTHING}" and ".func" in whole.stdout
    (mine,), (known,) = short.compiles, whole.compiles
    assert mine.ttir_key == known.ttir_key and mine.hash != known.hash
    assert [launch.args for launch in short.launches] == [launch.args for launch in whole.launches] != []

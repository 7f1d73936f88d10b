"""A watched run tells the types of a kernel's expressions, also where its compilation fails in the end."""

from __future__ import annotations

import os
import sys

import pytest

from shrinkray_gpu.passes.host.observed import instrument
from shrinkray_gpu.passes.kernel.typed import KernelType, kinds, watchable
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.source.tree import source

SCRIPT = """
import torch
import triton
import triton.language as tl

@triton.jit
def twice(x):
    return x * 2

@triton.jit
def kernel(x_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK // 2)
    inside = offs < n
    x = tl.load(x_ptr + offs, mask=inside, other=0.0).to(tl.bfloat16)
    x = tl.where(offs < 4, x, 0.0)
    desc = tl.make_tensor_descriptor(x_ptr, [n, n], [n, 1], [16, 16])
    acc = tl.zeros([16, 16], tl.float32)
    for i in tl.range(0, n):
        acc = tl.dot(desc.load([0, i]), tl.trans(desc.load([i, 0])), acc)
    tl.store(x_ptr, twice(tl.sum(acc)) + tl.sum(x.to(tl.float32)) + tl.load(x_ptr + n // 2))
    tl.topk(x, 1, no_such_option=2)

kernel[(1,)](torch.zeros(256, device="cuda"), 16, BLOCK=32)
"""


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, KernelType]:
    folder = tmp_path_factory.mktemp("typed")
    (folder / "scratch").mkdir()
    scratch = str(folder / "scratch")
    environment = {**os.environ, "TRITON_CACHE_DIR": f"{scratch}/triton"}
    setup = Setup(sys.executable, environment, ("torch", "triton"), (), scratch, arch=90)
    pool = Pool(Script(folder / "script.py", cwd=folder), setup, mode="fork", jobs=1, seconds=60)
    program = Program.from_text(SCRIPT)
    try:
        run = pool.run(instrument(program, watchable(program)).text, values=True)
    finally:
        pool.close()
    return {source(program, node): kind for node, kind in kinds(program, run.values).items()}


def test_blocks_and_numbers_by_the_names_that_triton_has_for_them(seen: dict[str, KernelType]) -> None:
    assert seen["tl.arange(0, BLOCK // 2)"] == KernelType("int32", (16,))
    assert seen["offs < 4"] == KernelType("int1", (16,))
    assert seen["tl.load(x_ptr + offs, mask=inside, other=0.0)"] == KernelType("float32", (16,))
    assert seen["tl.load(x_ptr + offs, mask=inside, other=0.0).to(tl.bfloat16)"] == KernelType("bfloat16", (16,))
    assert seen["n // 2"] == KernelType("int32", ())
    assert seen["desc.load([0, i])"] == KernelType("float32", (16, 16))
    assert seen["twice(tl.sum(acc))"] == KernelType("float32", ())


def test_pointers_have_no_constant(seen: dict[str, KernelType]) -> None:
    assert seen["x_ptr + offs"].shape == (16,) and not seen["x_ptr + offs"].plain


def test_what_is_settled_when_it_compiles_has_no_type(seen: dict[str, KernelType]) -> None:
    assert "BLOCK // 2" not in seen and "tl.float32" not in seen

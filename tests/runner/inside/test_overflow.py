"""Kernels with wide products note at an address of ours when a product would not have fitted 32 bits, and when an
access leaves the tensors all the same.

Run by Triton's interpreter, which writes to host memory as the GPU would; compiled for sm_90 as well.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import ctypes, json, sys
import torch, triton, triton.language as tl
from shrinkray_gpu.runner.inside.knobs import overflow

notes = overflow._Notes()
witness = overflow.Witness()
witness._memory = ctypes.c_void_p(ctypes.addressof(notes))
for owner, name, value in overflow.patches(tl, witness):
    setattr(owner, name, value)

@triton.jit
def kernel(out, i, k, far, last, WIDE: tl.constexpr):
    lanes = tl.arange(0, 4)
    tl.store(out + lanes, (i + lanes) * WIDE)
    tl.store(out + 4, WIDE * i + (2.0 * i).to(tl.int64))
    tl.store(out + 5, k * i)
    tl.store(out + 6, (i.to(tl.int64) * 2**20) * 2**20)
    tl.store(out + far + lanes, tl.load(out + far + lanes, lanes <= last, other=0), mask=lanes <= last)

@triton.jit
def derived(out, i, k, far, last, WIDE: tl.constexpr):
    rows = i * 2 + tl.arange(0, 4) - 1
    tl.store(out + tl.arange(0, 4)[:, None], rows[:, None] * WIDE)
    tl.store(out + 4, rows.to(tl.int64).sum() * 2**40)

KERNELS = {"kernel": kernel, "derived": derived}
if sys.argv[1] == "compile":
    from triton.backends.compiler import GPUTarget
    signature = {"out": "*i64", "i": "i32", "k": "i32", "far": "i64", "last": "i32", "WIDE": "constexpr"}
    for kernel in KERNELS.values():
        source = triton.compiler.ASTSource(kernel, signature=signature, constexprs={"WIDE": 1024})
        text = triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ttgir"]
        print([str(witness.address + offset) in text for offset in (0, 4, 8)])
else:
    for name, i, k, last in json.loads(sys.argv[1]):
        ctypes.memset(witness._memory, 0, ctypes.sizeof(notes))
        witness._ranges = []
        memory = torch.zeros(32, dtype=torch.int64)
        out = torch.frombuffer((ctypes.c_int64 * 8).from_address(memory.data_ptr()), dtype=torch.int64)
        witness.cover(((out, [torch.zeros(1)]), {"more": torch.zeros(1)}))
        KERNELS[name][(1,)](out, i, k, 6, last, 1024)
        print(json.dumps([notes.overflowed, notes.outside, out.tolist()]))
"""
LIMIT = 2**31
PRODUCTS = [
    (5, 3, False), (LIMIT // 1024 - 4, 1, False), (LIMIT // 1024 - 3, 1, True), (3, LIMIT // 2, True),
    (-2, LIMIT // 2, False), (-3, LIMIT // 2, True),
]  # fmt: skip
MADE_OF_PRODUCTS = [(5, False), (LIMIT // 2048, True)]
ACCESSES = [(-1, 0), (1, 0), (2, 1), (3, 1)]
LAUNCHES = [
    *(("kernel", i, k, -1) for i, k, _ in PRODUCTS),
    *(("derived", i, 0, -1) for i, _ in MADE_OF_PRODUCTS),
    *(("kernel", 5, 3, last) for last, _ in ACCESSES),
]
Noted = tuple[int, int, list[int]]


def printed(folder: Path, argument: str, *, interpreted: str) -> list[str]:
    (folder / "script.py").write_text(SCRIPT)
    environment = {**os.environ, "TRITON_INTERPRET": interpreted, "PYTHONPATH": str(Path(__file__).parents[3])}
    environment["TRITON_CACHE_DIR"] = str(folder / "triton")
    command = [sys.executable, "script.py", argument]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def noted(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int, int, int], Noted]:
    """By launch: whether a product did not fit, whether an access was outside, and what the kernel wrote.

    All in one process, for which torch is imported once.
    """
    lines = printed(tmp_path_factory.mktemp("overflow"), json.dumps(LAUNCHES), interpreted="1")
    return dict(zip(LAUNCHES, map(json.loads, lines), strict=True))


@pytest.mark.parametrize(("i", "k", "overflows"), PRODUCTS)
def test_a_product_that_does_not_fit_is_noted_and_comes_out_right(
    noted: dict[tuple[str, int, int, int], Noted], i: int, k: int, overflows: bool
) -> None:
    overflowed, outside, values = noted["kernel", i, k, -1]
    assert (bool(overflowed), outside) == (overflows, 0)
    assert values[:7] == [*((i + lane) * 1024 for lane in range(4)), 1024 * i + 2 * i, k * i, i * 2**40]


@pytest.mark.parametrize(("i", "overflows"), MADE_OF_PRODUCTS)
def test_what_is_made_of_a_product_has_32_bits_as_well(
    noted: dict[tuple[str, int, int, int], Noted], i: int, overflows: bool
) -> None:
    """`(pid * BLOCK + arange) * stride` is how most kernels overflow. Who converts it means the 64 bits."""
    overflowed, _, values = noted["derived", i, 0, -1]
    assert bool(overflowed) is overflows
    assert values[:4] == [(2 * i + lane - 1) * 1024 for lane in range(4)]


@pytest.mark.parametrize(("last", "outside"), ACCESSES)
def test_an_access_beyond_all_tensors_is_noted(
    noted: dict[tuple[str, int, int, int], Noted], last: int, outside: int
) -> None:
    """Of a tensor with eight elements, from the sixth on."""
    assert noted["kernel", 5, 3, last][:2] == [0, outside]


def test_both_compile_for_a_gpu(tmp_path: Path) -> None:
    assert printed(tmp_path, "compile", interpreted="0") == ["[True, True, True]"] * 2

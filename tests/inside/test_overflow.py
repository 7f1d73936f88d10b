"""Kernels with wide products note at an address of ours when a product would not have fitted 32 bits.

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
from shrinkray_gpu.runner.inside import overflow

noted = ctypes.c_int(0)
witness = overflow.Witness()
witness._memory = ctypes.c_void_p(ctypes.addressof(noted))
for name in ("__mul__", "__rmul__"):
    setattr(tl.tensor, name, overflow.widened(getattr(tl.tensor, name), witness))

@triton.jit
def kernel(out, i, k, WIDE: tl.constexpr):
    lanes = tl.arange(0, 4)
    tl.store(out + lanes, (i + lanes) * WIDE)
    tl.store(out + 4, WIDE * i + (2.0 * i).to(tl.int64))
    tl.store(out + 5, k * i)
    tl.store(out + 6, (i.to(tl.int64) * 2**20) * 2**20)

if sys.argv[1] == "compile":
    source = triton.compiler.ASTSource(
        kernel, signature={"out": "*i64", "i": "i32", "k": "i32", "WIDE": "constexpr"}, constexprs={"WIDE": 1024})
    from triton.backends.compiler import GPUTarget
    print(str(witness.address) in triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ttgir"])
else:
    i, k = map(int, sys.argv[1:])
    out = torch.zeros(7, dtype=torch.int64)
    kernel[(1,)](out, i, k, 1024)
    print(json.dumps([noted.value, out.tolist()]))
"""
LIMIT = 2**31


def told(folder: Path, *arguments: object, interpreted: str) -> str:
    (folder / "script.py").write_text(SCRIPT)
    environment = {**os.environ, "TRITON_INTERPRET": interpreted, "PYTHONPATH": str(Path(__file__).parents[2])}
    environment["TRITON_CACHE_DIR"] = str(folder / "triton")
    command = [sys.executable, "script.py", *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "i, k, overflows",
    [(5, 3, False), (LIMIT // 1024 - 4, 1, False), (LIMIT // 1024 - 3, 1, True), (3, LIMIT // 2, True),
     (-2, LIMIT // 2, False), (-3, LIMIT // 2, True)],
)  # fmt: skip
def test_a_product_that_does_not_fit_is_noted_and_comes_out_right(
    tmp_path: Path, i: int, k: int, overflows: bool
) -> None:
    noted, values = json.loads(told(tmp_path, i, k, interpreted="1"))
    assert bool(noted) is overflows
    assert values == [*((i + lane) * 1024 for lane in range(4)), 1024 * i + 2 * i, k * i, i * 2**40]


def test_it_compiles_for_a_gpu(tmp_path: Path) -> None:
    assert told(tmp_path, "compile", interpreted="0").strip() == "True"

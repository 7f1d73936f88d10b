"""The script that launches by the driver alone, run against a library that stands in for libcuda and writes down what
it is called with: a simulation. On a GPU it was not run."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from shrinkray_gpu.ptx.driver_launch import contents, packed
from shrinkray_gpu.ptx.launcher import NoLauncher, launcher
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.runner.run import Compilation, Launch

PTX = """\
.version 8.4
.target sm_90a
.address_size 64
.visible .entry k(
    .param .u64 .ptr .global .align 1 k_param_0,
    .param .u32 k_param_1,
    .param .f32 k_param_2,
    .param .u64 .ptr .global .align 1 k_param_3
)
.reqntid 256
{
    ret;
}
"""
LAUNCH = Launch("k", "abc", (4, 2), ("bf16[8, 3] s(4, 1) +2 @4%128 #77", "i32 64", "i32 1", "float 0.5", "i32 128"))
CALL = {"signature": ["*bf16", "i32", "constexpr", "fp32", "constexpr"], "scratch": 16, "warps": 4,
        "cluster": [1, 1, 1]}  # fmt: skip
COMPILED = Compilation("k", "abc", call=CALL, shared=65536)


@pytest.fixture(scope="module")
def libcuda(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    folder = tmp_path_factory.mktemp("libcuda")
    source = Path(__file__).with_name("libcuda.c")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(folder / "libcuda.so.1"), str(source)], check=True)
    return folder


def run(folder: Path, libcuda: Path, ptx: str = PTX, **variables: str) -> tuple[int, str, list[str]]:
    (folder / "repro.ptx").write_text(ptx)
    (folder / "launch.py").write_text(launcher(LAUNCH, COMPILED, PTX, "repro.ptx"))
    environment = {"LD_LIBRARY_PATH": str(libcuda), "CALLS": str(folder / "calls"), "PATH": os.environ["PATH"]}
    command = [sys.executable, "-I", str(folder / "launch.py")]
    done = subprocess.run(command, env={**environment, **variables}, capture_output=True, text=True, cwd="/")
    assert not done.stderr
    return done.returncode, done.stdout, (folder / "calls").read_text().splitlines()


def test_each_argument_arrives_as_the_kernel_reads_it(tmp_path: Path, libcuda: Path) -> None:
    code, said, calls = run(tmp_path, libcuda)
    assert code == 0 and said.endswith("no error\n") and "parameter 0: 66 bytes, sha256 " in said
    # 2 elements before the tensor, 31 to the end of its last row; the scratch of 16 bytes for each of 8 blocks
    assert calls == [
        "init 0", "device 0", "context 7", f"module {len(PTX)} 2 5 8192", "function k", "attribute 8 65536",
        "alloc 66", "alloc 128", "launch 4 2 1 256 1 1 65536: 0000 3e80 n=64 f=0.5 scratch=1",
    ]  # fmt: skip


def test_an_error_is_told_by_its_name(tmp_path: Path, libcuda: Path) -> None:
    code, said, _ = run(tmp_path, libcuda, CODE="716")
    assert code == 1 and said.endswith("cuCtxSynchronize: CUDA_ERROR_MISALIGNED_ADDRESS (716)\n")
    code, said, _ = run(tmp_path, libcuda, ptx="broken")
    assert code == 1 and said == "cuModuleLoadDataEx: CUDA_ERROR_INVALID_PTX (218) line 3; syntax error\n"


@pytest.mark.parametrize(
    ("args", "call", "why"),
    [
        (LAUNCH.args[1:], CALL, "another number of arguments"),
        (LAUNCH.args, {}, "does not tell how the kernel is called"),
        (LAUNCH.args, {**CALL, "cluster": [2, 1, 1]}, "clusters"),
        (("desc[8] s(1,) b[8] ...", *LAUNCH.args[1:]), CALL, "no plain tensor"),
        (LAUNCH.args, {**CALL, "signature": ["*bf16", "i64", "constexpr", "fp32", "constexpr"]}, "other parameters"),
        (LAUNCH.args, {**CALL, "signature": ["*bf16", "i32", "constexpr", "tensordesc", "constexpr"]}, "none that"),
    ],
)
def test_what_a_recipe_cannot_say_has_no_script(args: tuple[str, ...], call: dict[str, object], why: str) -> None:
    with pytest.raises(NoLauncher, match=why):
        launcher(Launch("k", "abc", (1,), args), Compilation("k", "abc", call=call), PTX, "repro.ptx")
    with pytest.raises(NoLauncher, match="no kernel other"):
        launcher(Launch("other", "abc", (1,), LAUNCH.args), COMPILED, PTX, "repro.ptx")


def test_what_buffers_hold() -> None:
    assert contents("i64", 16) == bytes(16) and contents("f32", 8) == struct.pack("<ff", 0.0, 0.125)
    assert len(contents("f64", 13)) == 13 and packed("bf16", 1.0) == b"\x80\x3f"
    assert packed("f16", 1.0) == b"\x00\x3c" and packed("u64", 2**63) == struct.pack("<Q", 2**63)


TRITON = """
import torch
import triton
import triton.language as tl


@triton.jit
def k(x, out, n, scale, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * scale, mask=at < n)


x = torch.zeros(100, device="cuda")
k[(4,)](x[2:], torch.zeros(100, device="cuda"), 98, 0.5, BLOCK=32, num_warps=2)
"""


def test_a_launch_of_triton_has_a_script(tmp_path: Path) -> None:
    pytest.importorskip("triton")
    (tmp_path / "a.py").write_text(TRITON)
    environment = {**os.environ, "TRITON_CACHE_DIR": str(tmp_path / "kernels")}
    setup = Setup(sys.executable, environment, ("torch", "triton"), (), str(tmp_path), arch=90, confine=False)
    pool = Pool(Script(tmp_path / "a.py", cwd=tmp_path), setup, mode="virtual", jobs=1, seconds=60)
    try:
        seen = pool.run(TRITON, wants=("ptx",))
    finally:
        pool.close()
    (launch,), (compiled,) = seen.launches, [each for each in seen.compiles if each.ir]
    text = launcher(launch, compiled, compiled.ir["ptx"], "k.ptx")
    assert "KERNEL = 'k'\nGRID = (4, 1, 1)\nBLOCK = (64, 1, 1)\n" in text
    assert "('buffer', 400, 8, 'f32'),\n    ('buffer', 400, 0, 'f32'),\n    ('i32', 98),\n    ('f32', 0.5),\n" in text
    (tmp_path / "launch.py").write_text(text)
    compile(text, "launch.py", "exec")


@pytest.mark.parametrize(("number", "value"), [("-inf", "-inf"), ("nan", "nan"), ("1e39", "inf"), ("-1e39", "-inf")])
def test_numbers_that_python_has_no_literal_of(number: str, value: str) -> None:
    args = (*LAUNCH.args[:3], f"float {number}", LAUNCH.args[4])
    text = launcher(Launch("k", "abc", (4, 2), args), COMPILED, PTX, "repro.ptx")
    assert f"('f32', float(\"{value}\")),\n" in text
    exec(compile(text, "launch.py", "exec"), {"__name__": "launch", "__file__": "launch.py"})

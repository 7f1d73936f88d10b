"""Kernels given to NVRTC as text: compiled for a GPU that is not there, and their calls seen."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from shrinkray_gpu.runner.inside.cuda_cpp.builds import Builds

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(
        not (shutil.which("nvcc") or os.access("/usr/local/cuda/bin/nvcc", os.X_OK)), reason="no nvcc here"
    ),
]
SOURCE = 'extern "C" __global__ void fill(float* p) { float unused; p[threadIdx.x] = 1; }'


@pytest.mark.skipif(not hasattr(torch.cuda, "_compile_kernel"), reason="this torch gives NVRTC no text")
def test_a_kernel_of_torch_s_own_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "_compile_kernel", torch.cuda._compile_kernel)  # put back at the end
    builds = Builds(str(tmp_path), 90)
    builds.watch()
    kernel = torch.cuda._compile_kernel(SOURCE, "fill")
    assert [build["launched"] for build in builds.seen] == [[]]
    kernel((1, 1, 1), (32, 1, 1), (torch.empty(32),))
    (build,) = builds.seen
    assert build["launched"] == ["fill"] and not build["failed"]
    assert 'variable "unused" was declared but never referenced' in build["printed"]
    for name in ("other", ""):
        with pytest.raises(RuntimeError, match=f"named symbol not found: {name}"):
            torch.cuda._compile_kernel(SOURCE, name)
    with pytest.raises(RuntimeError, match="identifier"):
        torch.cuda._compile_kernel(SOURCE.replace("= 1", "= n"), "fill")


@pytest.mark.skipif(not hasattr(torch.cuda, "_compile_kernel"), reason="this torch gives NVRTC no text")
def test_what_torch_or_the_driver_refuse_is_no_launch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "_compile_kernel", torch.cuda._compile_kernel)
    builds = Builds(str(tmp_path), 90, ["calls"])
    builds.watch()
    source = "namespace fa { template <int N> __global__ void fill(float* p, int n) { p[n] = N; } }"
    kernel = torch.cuda._compile_kernel(source, "fa::fill<3>", nvcc_options=["-DA"])
    x, one = torch.ones(4), (1, 1, 1)
    for grid, block, args, shared in (
        (one, (1025, 1, 1), [x, 1], 0),
        ((0, 1, 1), one, [x, 1], 0),
        (one, one, [x], 0),
        (one, one, [1, x], 0),
        (one, one, [x, None], 0),
        (one, one, [x, 1], 50000),
    ):
        with pytest.raises((RuntimeError, TypeError)):
            kernel(grid, block, args, shared_mem=shared)
    (build,) = builds.seen
    assert build["launched"] == [] and "calls" not in build
    kernel.set_shared_memory_config(50000)
    kernel(one, (32, 1, 1), [x, 1], shared_mem=50000)
    (call,) = build["calls"]
    assert call["kernel"] == "void fa::fill<3>(float*, int)" and "-DA" in build["flags"]
    assert [arg["type"] for arg in call["args"]] == ["float*", "int"] and call["args"][1]["bytes"] == "01000000"


def test_kernels_and_modules_of_cupy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cupy = pytest.importorskip("cupy")
    for name in ("RawKernel", "RawModule"):
        monkeypatch.setattr(cupy, name, getattr(cupy, name))
    builds = Builds(str(tmp_path), 90)
    builds.watch()
    cupy.RawKernel(SOURCE, "fill", ("-std=c++14", "--default-device"))((1,), (32,), (torch.empty(32),))
    template = "template <class T> __global__ void fill(T* p) { p[threadIdx.x] = 1; }"
    module = cupy.RawModule(code=template, name_expressions=["fill<float>"])
    module.get_function("fill<float>")((1,), (32,), (torch.empty(32),))
    assert [build["launched"] for build in builds.seen] == [["fill"], ["fill<float>"]]
    with pytest.raises(RuntimeError, match="named symbol not found: other"):
        cupy.RawModule(template).get_function("other")


def test_programs_of_cuda_core(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    core = pytest.importorskip("cuda.core")
    for name in ("Program", "ProgramOptions", "Device", "launch"):
        monkeypatch.setattr(core, name, getattr(core, name))
    builds = Builds(str(tmp_path), 90)
    builds.watch()
    device = core.Device()
    device.set_current()
    options = core.ProgramOptions(std="c++17", arch=f"sm_{device.arch}", define_macro=("N", 4))
    program = core.Program(SOURCE.replace("= 1", "= N"), code_type="c++", options=options)
    kernel = program.compile("cubin").get_kernel("fill")
    core.launch(device.create_stream(), core.LaunchConfig(grid=1, block=32), kernel, torch.empty(32).data_ptr())
    (build,) = builds.seen
    assert build["launched"] == ["fill"] and not build["failed"]

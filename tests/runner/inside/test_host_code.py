"""The runtime behind host code where no GPU is: launches are checked as a driver would, and written down."""

from __future__ import annotations

import ctypes
import shutil
from pathlib import Path

import pytest

from shrinkray_gpu.runner.inside.cuda_cpp import host_code

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler here")


class Dim(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]


@pytest.fixture
def runtime(tmp_path: Path) -> ctypes.CDLL:
    path = host_code.runtime(str(tmp_path), "/nowhere/bin/nvcc")
    assert path is not None and host_code.runtime(str(tmp_path), "/nowhere/bin/nvcc") == path
    library = ctypes.CDLL(path)
    library.shrink_launch.restype = ctypes.POINTER(host_code.HostLaunch)
    library.__cudaRegisterFunction(None, ctypes.c_void_p(8), None, b"_Z4fillPf", -1, None, None, None, None, None)
    return library


def launch(library: ctypes.CDLL, grid: Dim, block: Dim, shared: int = 0, function: int = 8) -> int:
    return int(library.cudaLaunchKernel(ctypes.c_void_p(function), grid, block, None, ctypes.c_size_t(shared), None))


def test_a_launch_is_written_down(runtime: ctypes.CDLL) -> None:
    assert launch(runtime, Dim(2, 1, 1), Dim(128, 1, 1), 64) == 0
    assert runtime.shrink_launches() == 1
    seen = runtime.shrink_launch(0).contents
    assert (seen.kernel, list(seen.grid), list(seen.block), seen.shared) == (b"_Z4fillPf", [2, 1, 1], [128, 1, 1], 64)
    runtime.shrink_forget()
    assert runtime.shrink_launches() == 0


@pytest.mark.parametrize(
    ("grid", "block", "shared", "function", "error"),
    [
        (Dim(0, 1, 1), Dim(1, 1, 1), 0, 8, 9),
        (Dim(1, 65536, 1), Dim(1, 1, 1), 0, 8, 9),
        (Dim(1, 1, 1), Dim(1025, 1, 1), 0, 8, 9),
        (Dim(1, 1, 1), Dim(32, 1, 1), 50000, 8, 1),
        (Dim(1, 1, 1), Dim(32, 1, 1), 0, 16, 98),
    ],
)
def test_what_a_driver_refuses_is_no_launch(
    runtime: ctypes.CDLL, grid: Dim, block: Dim, shared: int, function: int, error: int
) -> None:
    assert launch(runtime, grid, block, shared, function) == error
    assert runtime.shrink_launches() == 0
    assert runtime.cudaGetLastError() == error and runtime.cudaGetLastError() == 0


def test_more_shared_memory_is_asked_for_first(runtime: ctypes.CDLL) -> None:
    assert runtime.cudaFuncSetAttribute(ctypes.c_void_p(8), 8, 100000) == 0
    assert launch(runtime, Dim(1, 1, 1), Dim(32, 1, 1), 100000) == 0


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc here")
def test_the_rest_of_the_toolkit_s_functions_answer_success(tmp_path: Path) -> None:
    path = host_code.runtime(str(tmp_path), str(shutil.which("nvcc")))  # which may be a script that calls another
    assert path is not None
    library = ctypes.CDLL(path)
    assert library.cudaDeviceSynchronize() == library.cudaStreamSynchronize(None) == library.cudaDeviceReset() == 0


@pytest.mark.parametrize(
    ("mangled", "plain"),
    [
        (b"_Z7productPK6__halfS1_Pfi", ("product", ["__half const*", "__half const*", "float*", "int"])),
        (
            b"_ZN2fa17fa_forward_kernelINS_8FATraitsILi16ELi64EEEEEvNS_6ParamsE",
            ("fa_forward_kernel", ["fa::Params"]),
        ),
        (b"launch", ("launch", [])),
    ],
)
def test_names_for_people(mangled: bytes, plain: tuple[str, list[str]]) -> None:
    signature = host_code.demangle(mangled)
    assert (host_code.plain_name(signature), host_code.parameters(signature)) == plain

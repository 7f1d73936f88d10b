"""NVRTC through torch: a text is compiled once, and a kernel is given what it takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shrinkray_gpu.runner.inside.nvcc import parameters_of
from shrinkray_gpu.runner.inside.nvrtc import Checked, Nvrtc, parameters

torch = pytest.importorskip("torch")

SOURCE = "__global__ void fill(float* p, int n) { p[n] = 1; }"


def test_a_text_is_compiled_once_for_each_thing_asked_of_it(tmp_path: Path) -> None:
    asked: list[tuple[Any, ...]] = []

    def plain(*given: Any, **options: Any) -> tuple[bytes, str]:
        asked.append(given)
        if "error" in given[0]:
            raise RuntimeError("Kernel compilation failed:\nno such thing")
        return b"\x7fELF\0", "_Z4fillPfi"

    seen: list[dict[str, Any]] = []
    compiled = Nvrtc(str(tmp_path), 90, seen).compiler(plain)
    assert compiled(SOURCE, "fill", None, None, ["-DA"]) == (b"\x7fELF\0", "_Z4fillPfi")
    assert Nvrtc(str(tmp_path), 90, seen).compiler(plain)(SOURCE, "fill", "90", None, ["-DA"])[1] == "_Z4fillPfi"
    assert len(asked) == 1, "what a dry run compiled is there for the GPU"
    compiled(SOURCE, "fill", None, None, ["-DB"])
    for _ in range(2):
        with pytest.raises(RuntimeError, match="no such thing"):
            compiled("error", "fill")
    assert len(asked) == 3
    assert [build["failed"] for build in seen] == [False, False, False, True, True]


def test_a_kernel_takes_as_many_arguments_as_its_name_says() -> None:
    called: list[Any] = []
    kernel = Checked(lambda *args, **options: called.append((args, options)), parameters("_Z4fillPfi"))
    kernel((1, 1, 1), (32, 1, 1), [torch.empty(4), 3], shared_mem=64)
    kernel(args=[torch.empty(4), 3])
    assert len(called) == 2
    for wrong in ([torch.empty(4)], [torch.empty(4), 3, 4], [3, torch.empty(4)], None):
        with pytest.raises(TypeError, match="the kernel takes"):
            kernel((1, 1, 1), (32, 1, 1), wrong)
    assert len(called) == 2


def test_a_name_of_c_tells_no_parameters() -> None:
    assert parameters("fill") is None
    assert parameters("_Z4fillPfi") == ["float*", "int"]


def test_bytes_of_parameters_as_ptx_has_them() -> None:
    ptx = """
.visible .entry _Z4fillP6Params(
\t.param .u64 .ptr .align 1 _Z4fill_param_0,
\t.param .align 8 .b8 _Z4fill_param_1[24],
\t.param .f32 _Z4fill_param_2
)
.maxntid 256, 1, 1
{
}
.visible .entry nothing()
{
"""
    assert parameters_of(ptx) == {"_Z4fillP6Params": [8, 24, 4], "nothing": []}

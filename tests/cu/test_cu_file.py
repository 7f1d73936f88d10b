"""A .cu as it is read: its own headers, its nvcc line, its architecture."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrinkray_gpu.cu.cu_file import read_cu
from shrinkray_gpu.errors import UsageError

KERNEL = "__global__ void kernel() {}\nint main() { kernel<<<1, 1>>>(); }\n"


def written(folder: Path, text: str) -> Path:
    path = folder / "k.cu"
    path.write_text(text)
    return path


def test_headers_of_its_own_stand_in_their_places_and_others_stay(tmp_path: Path) -> None:
    (tmp_path / "sizes.cuh").write_text("#pragma once\nconstexpr int kSize = 8;\n")
    path = written(tmp_path, '#include <cub/cub.cuh>\n#include "sizes.cuh"\n#include "cutlass/gemm.h"\n' + KERNEL)
    file = read_cu(path, (), 90)
    assert file.text == '#include <cub/cub.cuh>\nconstexpr int kSize = 8;\n\n#include "cutlass/gemm.h"\n' + KERNEL
    assert [each.name for each in file.files] == ["k.cu", "sizes.cuh"] and "#pragma once" in file.whole


@pytest.mark.parametrize(
    ("head", "arch", "flags"),
    [
        ("// nvcc -O3 -arch=sm_80 -c k.cu -o k && ./k\n", None, ("-O3", "-arch=sm_80")),
        ("// nvcc -O3 -arch=sm_80 k.cu\n", 90, ("-arch=sm_90", "-O3")),
        ("/*\n * nvcc -gencode arch=compute_90a,code=sm_90a -G k.cu */\n", 90, ("-arch=sm_90a", "-G")),
        ("#include <cstdio>\n// nvcc -O3 k.cu\n", 90, ("-arch=sm_90",)),
    ],
)  # fmt: skip
def test_the_nvcc_line_of_the_head(tmp_path: Path, head: str, arch: int | None, flags: tuple[str, ...]) -> None:
    assert read_cu(written(tmp_path, head + KERNEL), None, arch).flags == flags


def test_flags_given_come_before_those_of_the_head_and_paths_are_absolute(tmp_path: Path) -> None:
    (tmp_path / "include").mkdir()
    path = written(tmp_path, "// nvcc -O3 k.cu\n" + KERNEL)
    assert read_cu(path, ("-Iinclude", "-G"), 90).flags == ("-arch=sm_90", f"-I{tmp_path / 'include'}", "-G")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("// nvcc -arch=sm_90 k.cu other.cu\n" + KERNEL, "names other.cu too"),
        (KERNEL, "names no architecture: give --arch sm_90"),
        ("// nvcc -DX='1 k.cu\n" + KERNEL, "its nvcc line cannot be read"),
        ("\n", "is empty"),
    ],
)
def test_what_cannot_be_reduced_is_told_in_a_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_cu(written(tmp_path, text), None, None)


def test_a_machine_with_a_gpu_compiles_for_it(tmp_path: Path) -> None:
    assert read_cu(written(tmp_path, KERNEL), None, None, gpu=True).flags == ("-arch=native",)

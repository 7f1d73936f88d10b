from __future__ import annotations

import ast
from pathlib import Path

from shrinkray_gpu.lift.embed import embed
from shrinkray_gpu.reduction.native.code import amount
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.size import lines

SCRIPT = """
import os
from torch.utils.cpp_extension import load

here = os.path.dirname(__file__)
ext = load(name="k", sources=[os.path.join(here, "k.cu"), "bind.cpp"], extra_cuda_cflags=["-O3"])
ext.run()
"""


def files(folder: Path) -> None:
    (folder / "k.cu").write_text('#include <cuda.h>\n#include "helper.cuh"\n__global__ void k() { help(); }\n')
    (folder / "helper.cuh").write_text("#pragma once\n__device__ void help() {}\n")
    (folder / "bind.cpp").write_text("#include <torch/extension.h>\nvoid run() {}\n")


def test_sources_in_files_become_part_of_the_script(tmp_path: Path) -> None:
    files(tmp_path)
    made = embed(Program.from_text(SCRIPT), tmp_path / "script.py", tmp_path)
    assert [file.name for file in made.files] == ["k.cu", "helper.cuh", "bind.cpp"]
    text = made.program.text
    ast.parse(text)
    assert "import load_inline" in text and "load_inline(name=" in text and 'extra_cuda_cflags=["-O3"]' in text
    assert "__device__ void help() {}\n" in text and "helper.cuh" not in text and "#include <cuda.h>" in text
    assert len(made.program.literals) == 2


def test_a_source_that_is_not_there_leaves_the_call_alone(tmp_path: Path) -> None:
    program = Program.from_text(SCRIPT)
    assert embed(program, tmp_path / "script.py", tmp_path).program is program


def test_a_header_of_both_compilers_stands_in_both_sources_unless_the_script_grows(tmp_path: Path) -> None:
    files(tmp_path)
    (tmp_path / "bind.cpp").write_text('#include <torch/extension.h>\n#include "helper.cuh"\nvoid run() {}\n')
    start = Program.from_text(SCRIPT)
    assert embed(start, tmp_path / "script.py", tmp_path).program.text.count("void help() {}") == 2
    (tmp_path / "helper.cuh").write_text("#pragma once\n" + "__device__ void help() {}\n" * 30)
    made = embed(start, tmp_path / "script.py", tmp_path)
    assert made.program.text.count("void help() {}") == 30
    whole = sum(amount(file.read_text()).tokens for file in made.files) + start.size.tokens
    assert made.program.size.tokens <= whole
    assert lines(made.program.text) <= lines(SCRIPT) + sum(lines(file.read_text()) for file in made.files)

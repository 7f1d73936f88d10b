"""An extension's kernel alone, made of what its host code launches where no GPU is, and taken if the oracle says so."""

from __future__ import annotations

import importlib.util
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from shrinkray_gpu.lift.cuda import as_cu
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.start import Start, UserProgram
from shrinkray_gpu.start.kernel_alone import calls, kernel_alone, may_be
from tests.e2e.test_cuda import PROGRAM
from tests.start.test_choice import given

NVCC = shutil.which("nvcc") or ("/usr/local/cuda/bin/nvcc" if os.access("/usr/local/cuda/bin/nvcc", os.X_OK) else None)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(NVCC is None, reason="no nvcc here"),
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="no torch here"),
]
WARNING = "build:cannot perform wmma load or store on local memory"


def on_sm_90(folder: Path, oracle: str) -> UserProgram:
    (folder / "failing.py").write_text(PROGRAM)
    made = given(folder, PROGRAM, oracle)
    assert made.chosen is not None
    script = replace(made.script, wants=made.chosen.needs.wants)
    setup = replace(made.setup, arch=90, writable=(str(folder / "cache"),))
    return replace(made, setup=setup, script=script)


def test_the_kernel_is_compiled_and_launched_without_its_binding(tmp_path: Path) -> None:
    said: list[str] = []
    program = on_sm_90(tmp_path, WARNING)
    start = kernel_alone(Start(program.program), program, said.append)
    try:
        text = start.program.text
        assert start.told.startswith("lifted: a kernel alone, compiled by NVRTC and launched from Python"), start.told
        assert start.lifted and start.alone and start.bare and start.oracle is not None
        assert "load_inline" not in text and "torch::" not in text and "load_matrix_sync" in text
        assert text.endswith("kernel((1, 1, 1), (32, 1, 1), [x, x, out, 1])\ntorch.cuda.synchronize()\n")
        assert start.seen and all(start.oracle.judge(run).faults for run in start.seen)
        assert [build.launched for run in start.seen for build in run.builds] == [("product",)] * len(start.seen)
        [build] = calls(text, program.alone.script, program.setup, None)
        plain = as_cu.cu_source(Program.from_text(text).literals, build.calls, "nvcc product.cu")
        assert "  product<<<1, 32>>>((__half const*)x0, (__half const*)x0, (float*)x1, 1);\n" in plain
    finally:
        assert start.lanes is not None
        start.lanes.close()


def test_a_fault_that_the_kernel_alone_does_not_show_leaves_the_program_as_it_is(tmp_path: Path) -> None:
    program = on_sm_90(tmp_path, "text:torch.Size")
    oracle = program.chosen
    assert oracle is not None and may_be(program)
    shown = Run("cold", 0, stdout="torch.Size([16, 16])")
    start = kernel_alone(Start(program.program, oracle, shown, told="before"), program, lambda text: None)
    assert start.program.text == PROGRAM and not start.lifted
    assert start.told.startswith(
        "before; the extension stays, its kernel was not taken alone: no launch of a kernel alone shows the fault ("
    )


def test_what_nvcc_says_is_no_question_for_nvrtc(tmp_path: Path) -> None:
    assert not may_be(on_sm_90(tmp_path, WARNING))

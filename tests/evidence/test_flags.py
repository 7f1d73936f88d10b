"""Controls that only some originals have: flags of nvcc, and what they are when there is nothing to turn any more."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.oracle import Fault, parse
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.runner import knob_settings
from shrinkray_gpu.runner.knob_settings import WITHOUT, KnobSetting
from shrinkray_gpu.runner.run import Build, Run
from shrinkray_gpu.same_fault.controls import ControlOutcome, Controls, of_access, of_cuda, standard
from tests.oracle.runs import passing
from tests.passes.cuda.samples import PRODUCT

SAID = "cannot perform wmma load or store on local memory"


def test_macros_and_arithmetic_are_controls_and_the_rest_is_none() -> None:
    text = PRODUCT.replace('"-O3"', '"-O3", "-lineinfo", "--use_fast_math", "-DTILE=16"')
    assert [one.name for one in of_cuda(Program.from_text(text), gpu=True)] == [
        "without=--use_fast_math",
        "without=-DTILE=16",
        "without=-DUSE_WMMA",
    ]


def test_a_script_without_cuda_has_none() -> None:
    assert of_cuda(Program.from_text("options = ['-DUSE_WMMA']  # __shared__\n"), gpu=True) == ()


def test_what_is_typed_is_what_is_left_out() -> None:
    assert knob_settings.parse_setting("without=-DN=4").environment == {WITHOUT: "-DN=4"}
    with pytest.raises(UsageError, match="no flag of nvcc"):
        knob_settings.parse_setting("without=USE_WMMA")


def test_a_flag_that_nothing_asks_for_any_more_guards_nothing() -> None:
    asked: list[KnobSetting] = []

    def run(text: str, way: KnobSetting) -> Run:
        asked.append(way)
        return passing(builds=(Build("product", "" if "#ifdef" in text else SAID),))

    (control,) = of_cuda(Program.from_text(PRODUCT), gpu=True)
    controls = Controls(run, parse(f"build:{SAID}", folder=Path()))
    assert controls.attempt(control, PRODUCT).outcome is ControlOutcome.PASSES
    resolved = PRODUCT.replace("#ifdef USE_WMMA\n", "").replace("#endif\n", "")
    assert controls.attempt(control, resolved).outcome is ControlOutcome.NOT_APPLICABLE
    assert [way.name for way in asked] == ["without=-DUSE_WMMA"]


def test_where_there_is_no_triton_its_knobs_are_no_controls() -> None:
    assert [one.name for one in standard(True, triton=False)] == ["exact-allocation"]
    assert standard(False, triton=False) == ()
    assert {"serial", "interpreter", "exact-allocation"} < {one.name for one in standard(True)}


@pytest.mark.parametrize("code, names", [(700, ["int64"]), (717, ["int64"]), (716, []), (710, [])])
def test_an_access_to_where_nothing_is_may_come_of_an_overflow(code: int, names: list[str]) -> None:
    assert [one.name for one in of_access(Fault("device", "", code=code))] == names


def test_shared_memory_of_zeros_is_one_where_kernels_run_and_declare_any() -> None:
    shared = PRODUCT.replace("__global__", "extern __shared__ half tile[];\n__global__", 1)
    for text, gpu, offered in ((shared, True, True), (shared, False, False), (PRODUCT, True, False)):
        names = [one.name for one in of_cuda(Program.from_text(text), gpu=gpu)]
        assert ("zeroed-shared" in names) is offered


ASSERTING = """
import os

os.environ["TRITON_INTERPRET"] = os.environ["TRITON_DEBUG"] = "1"

import triton
import triton.language as tl


@triton.jit
def kernel(count):
    tl.device_assert(count < 0, "never holds")


kernel[(1,)](3)
"""


def test_a_failed_assertion_is_not_asked_of_the_interpreter_which_checks_none(tmp_path: Path) -> None:
    pytest.importorskip("triton")
    program = tmp_path / "asserting.py"
    program.write_text(ASSERTING)
    ended = subprocess.run([sys.executable, program], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr  # once it fails the control may come back
    asserted = Fault("device", "device-side assert triggered", code=710)
    left = {one.name for one in standard(True, fault=asserted)}
    assert {one.name for one in standard(True)} - left == {"interpreter"}

"""A reduction of IR on old releases, which tell the names of their passes only in a reproducer."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shrinkray_gpu.intermediate.compiler import IrCompiler
from shrinkray_gpu.intermediate.options import IrOptions
from shrinkray_gpu.intermediate.pass_table import PassCall
from shrinkray_gpu.intermediate.reduce_ir import check_ir, reduce_ir
from tests.versions import environments
from tests.versions.conftest import each

pytestmark = [pytest.mark.versions, pytest.mark.timeout(900)]  # the first to ask for a release fetches it

CASES = Path(__file__).parents[2] / "benchmarks" / "ir_cases"


@pytest.mark.parametrize("version", each(["3.0.0", "3.2.0"]))
def test_passes_and_their_options_are_known(version: str) -> None:
    with IrCompiler(environments.python(version), os.environ, "sm_90") as compiler:
        asked = PassCall("tritongpu-pipeline", {"num-stages": "5"})
        step = compiler.table.step(asked, "sm_90")
        assert step == ("passes.ttgpuir", "add_pipeline", (5,)) and compiler.table.call(step) == asked
        assert "convert-triton-gpu-to-llvm" in compiler.table.known


@pytest.mark.parametrize("version", each(["3.0.0"]))
def test_a_case_comes_to_its_minimum(version: str) -> None:
    python = environments.python(version)
    found = reduce_ir(CASES / "while_after_for.ttir", IrOptions(python=python, arch="sm_80"))
    assert found.fault == check_ir(CASES / "while_after_for.minimum.mlir", IrOptions(python=python))
    assert found.after == 7 and "loc(" not in found.text and not found.refuted

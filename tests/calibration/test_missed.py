"""Which runs that do not show the fault are made again: those in which chance may have kept it away."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrinkray_gpu.calibration.missed import _chance
from shrinkray_gpu.oracle import parse
from shrinkray_gpu.runner.run import Run
from tests.oracle.runs import JSD, failing, passing

REFUSED = failing("triton.compiler.errors.CompilationError", "at 2:8:\nBoth operands must be same dtype")
TOO_LARGE = failing("triton.runtime.errors.OutOfResources", "out of resource: shared memory, Required: 294912")
ASKED = parse("misaligned address", folder=Path())


@pytest.mark.parametrize(
    ("seen", "again"),
    [
        (REFUSED, False),
        (TOO_LARGE, False),
        (failing("NameError", "name 'x' is not defined"), False),
        (failing("RuntimeError", "the loss is nan", launches=(JSD,)), True),
        (passing(launches=(JSD,)), True),
    ],
)
def test_what_is_refused_each_time_is_run_once(seen: Run, again: bool) -> None:
    assert _chance([seen], [ASKED.judge(seen)], ASKED) is again

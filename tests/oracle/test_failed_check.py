"""A check of values that fails, told from whatever else ends a script."""

from __future__ import annotations

import pytest

from shrinkray_gpu.oracle.failed_check import failed_check
from shrinkray_gpu.runner.run import Failure, Run

OWN = '  File "/home/me/failing.py", line 9, in check\n    {code}\n'
TORCH = OWN.format(code="f(x)") + '  File "/v/lib/python3.11/site-packages/torch/{file}", line 1, in g\n    raise e\n'


def ends(type: str, text: str, code: str, file: str = "", bases: tuple[str, ...] = ()) -> Run:
    traceback = TORCH.format(file=file) if file else OWN.format(code=code)
    return Run("cold", 1, failure=Failure(type, text, bases, line=9, traceback=traceback))


@pytest.mark.parametrize(
    "run",
    [
        ends("AssertionError", "", "assert ok"),
        ends("AssertionError", "Tensor-likes are not close!", "", "testing/_comparison.py"),
        ends("ValueError", "greedy values are not equal for vocabulary 64", "raise ValueError(text)"),
        ends("RuntimeError", "max abs error 3.1", "raise RuntimeError(text)"),
        ends("project.Off", "row 3", "raise Off(3)", bases=("AssertionError", "Exception")),
        Run("cold", 1, stdout="rows 4\nMISMATCH in 3 of 4\n"),
    ],
)
def test_a_check_of_values(run: Run) -> None:
    assert failed_check(run)


@pytest.mark.parametrize(
    "run",
    [
        ends("IndexError", "list index out of range", "rows[7]"),
        ends("RuntimeError", "the values do not match the index", "x[i] = y"),  # torch raises it
        ends("ValueError", "no such mode", "raise ValueError(mode)"),
        ends("ValueError", "tensors are on different devices", "raise ValueError(text)"),
        ends("AssertionError", "", "", "_dynamo/variables.py"),  # torch's own
        Run("cold", 1, stderr="usage: failing.py [-h]\n"),
        Run("cold", 0, stdout="no mismatch\n"),
        Run("cold", None, signal=11, stdout="mismatch\n"),
    ],
)
def test_another_end(run: Run) -> None:
    assert not failed_check(run)

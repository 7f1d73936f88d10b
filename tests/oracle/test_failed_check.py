"""A check of values that fails, told from whatever else ends a script."""

from __future__ import annotations

import pytest

from shrinkray_gpu.oracle.failed_check import failed_check, is_of_values
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
        ends("AssertionError", "loads are not vectorized", 'assert "ld.global.v4" in h.asm["ptx"], "loads"'),
        ends("AssertionError", "registers differ", "assert h.n_regs == 32"),
        ends("AssertionError", "", "assert y.is_contiguous()"),
        ends("ValueError", "shapes do not match", "raise ValueError(text)"),
        ends("ValueError", "got incorrect rank", "raise ValueError(text)"),
        Run("cold", 3, stdout="max abs err 0.0, fine\nspills: 96, too many\n"),
        Run("cold", 1, stderr="usage: failing.py [-h]\n"),
        Run("cold", 0, stdout="no mismatch\n"),
        Run("cold", None, signal=11, stdout="mismatch\n"),
    ],
)
def test_another_end(run: Run) -> None:
    assert not failed_check(run)


@pytest.mark.parametrize(
    ("run", "of_values"),
    [
        (ends("AssertionError", "", "assert ok"), False),
        (ends("AssertionError", "wrong grid", "assert triton.cdiv(n, 8) == 2"), False),
        (ends("AssertionError", "Scalars are not equal!", "", "testing/_comparison.py"), False),
        (ends("AssertionError", "The values for attribute 'shape' do not match", "", "testing/_comparison.py"), False),
        (ends("AssertionError", "Tensor-likes are not close!", "", "testing/_comparison.py"), True),
        (ends("AssertionError", "", "assert torch.allclose(y, x)"), True),
        (ends("AssertionError", "", "assert (y - x).abs().max() < 1e-3"), True),
        (ends("AssertionError", "row 3 is wrong: mismatch", "assert ok, text"), True),
        (Run("cold", 1, stdout="MISMATCH in 3 of 4\n\n"), True),
    ],
)
def test_what_says_that_it_is_of_values(run: Run, of_values: bool) -> None:
    assert is_of_values(run) is of_values


def test_a_check_of_triton_is_one() -> None:
    raised = '  File "/v/lib/python3.11/site-packages/triton/testing.py", line 3, in assert_close\n    raise e\n'
    run = Run("cold", 1, failure=Failure("AssertionError", "1 is not close to 2", (), line=3, traceback=raised))
    assert failed_check(run)

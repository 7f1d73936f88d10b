"""A launch that a child made, alone in a script: whether it dies of what the child died of."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrinkray_gpu.oracle import Fault, adopt, parse
from shrinkray_gpu.oracle.carried import ChildFault
from shrinkray_gpu.runner.run import Run
from tests.oracle.runs import ACCELERATOR, JSD, TORCH_716, failing

COMPILING = failing(
    "triton.compiler.errors.CompilationError",
    "at 3:8:\n    f(3)\n    ^\narange's range must be a power of 2",
)
MISALIGNED = failing("torch.AcceleratorError", TORCH_716, ACCELERATOR, driver_error=716, launches=(JSD,))
OWN = failing("ValueError", "arange's range must be a power of 2")


@pytest.mark.parametrize(
    ("run", "child", "words", "same"),
    [
        (COMPILING, "ValueError: arange's range must be a power of N", None, True),
        (COMPILING, "ValueError: arange's range must be a power of N", "regex:power of", True),
        (COMPILING, "ValueError: arange's range must be a power of N", "regex:bananas", False),
        (COMPILING, "ValueError: the start argument must be less than the end argument", None, False),
        (MISALIGNED, "KeyError: N\nAcceleratorError: CUDA error: misaligned address", None, True),
        (OWN, "ValueError: arange's range must be a power of N", None, False),
    ],
)
def test_the_fault_is_the_child_s_by_its_words(run: Run, child: str, words: str | None, same: bool) -> None:
    inner = parse(words, folder=Path()) if words else None
    assert ChildFault(spec="regex:x", inner=inner, child=child).judge(run).faults == same


def test_what_the_child_died_of_is_adopted_before_what_only_says_that_it_did() -> None:
    said = "Command '['python', 'job.py']' returned non-zero exit status 1."
    run = failing("subprocess.CalledProcessError", said, children=("ValueError: range of 3 elements",))
    assert adopt(run) == "regex:ValueError: range of -?[0-9]+ elements"
    fault = Fault.of(run)
    assert fault is not None and fault.child == "ValueError: range of N elements"

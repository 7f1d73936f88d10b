"""An exception that ends in our own code is ours, and one that passes through it is the script's."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from shrinkray_gpu.runner.inside.process import own_bug
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.runner.private_setup import private_setup

OURS = str(Path(own_bug.__file__).parents[1] / "vgpu" / "made_up.py")
BROKEN = """\
import sys
import torch

x = torch.ones(3, device="cuda")
next(module for name, module in sys.modules.items() if name.endswith("vgpu.dispatch"))._LIKE_FIRST = None
torch.add(x, 1)
"""


def said(source: str, **names: Any) -> str:
    try:
        exec(compile(source, OURS, "exec"), names)
    except Exception as error:
        return own_bug.words(error)
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize("source", ["{}['x']", "None.x", "gone", "a, b = 1, 'x' + 1", "1 in None"])
def test_what_python_raises_in_our_code_is_ours(source: str) -> None:
    assert said(source).startswith("a bug of shrink's own, which says nothing of the program, in vgpu/made_up.py:1 (")


@pytest.mark.parametrize(
    "source",
    [
        "raise RuntimeError('CUDA error: misaligned address')",  # in place of the driver
        "raise AttributeError('x')",
        "func(*args, **kwargs)",  # the operation itself, in C++ or the script's
        "func(*args)",
    ],
)
def test_what_passes_through_it_is_the_scripts(source: str) -> None:
    assert said(source, func=int, args=("x", "y"), kwargs={}) == ""


def test_the_scripts_own_code_is_never_ours() -> None:
    with pytest.raises(KeyError) as caught:
        {}["x"]
    assert own_bug.words(caught.value) == ""


def test_a_run_that_ends_in_a_bug_of_the_virtual_gpu_tells_nothing_but_that(tmp_path: Path) -> None:
    setup = private_setup(tmp_path / "work", {}, python=sys.executable, imports=(), own=(), arch=90)
    pool = Pool(Script(tmp_path / "failing.py", cwd=tmp_path), setup, mode="virtual", jobs=1, seconds=60.0)
    try:
        run = pool.run(BROKEN)
    finally:
        pool.close()
    assert run.failure is not None and run.failure.type == "TypeError"
    assert "in vgpu/dispatch.py:" in run.trouble and " at aten.add.Tensor (TypeError: " in run.trouble

"""What a candidate leaves behind in a lane that is used again, each time in a forked child."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shrinkray_gpu.runner.inside import vgpu
from shrinkray_gpu.runner.inside.launches import launch_log
from shrinkray_gpu.runner.inside.process import restore
from tests.runner.inside.conftest import ARCH
from tests.runner.inside.forked import forked


def left_by(candidate: Callable[[], None]) -> str:
    """Why the lane must end after it; all else that it did is undone."""
    log = launch_log.LaunchLog(frozenset())
    log.install()
    with vgpu.virtual(ARCH, log):
        baseline = restore.Baseline()
        candidate()
        return baseline.restore()


def test_modules_of_the_script_go_whatever_packages_their_names_begin_with(prepared: None, tmp_path: Path) -> None:
    names = ("triton_ops", "torch_utils", "random_inputs", "os_paths.deep", "torch.nonesuch")

    def candidate() -> None:
        sys.modules.update({name: types.ModuleType(name) for name in names})

    def work() -> dict[str, Any]:
        left = left_by(candidate)
        return {"left": left, "stay": [name for name in names if name in sys.modules]}

    assert forked(tmp_path, work) == {"left": "", "stay": ["torch.nonesuch"]}


def test_settings_of_triton_are_put_back(prepared: None, tmp_path: Path) -> None:
    knobs: Any = pytest.importorskip("triton.knobs")

    def candidate() -> None:
        knobs.compilation.disable_line_info = False
        knobs.nvidia.disable_ptxas_opt = True
        knobs.runtime.debug = True
        knobs.runtime.jit_cache_hook = print
        if hasattr(knobs.runtime.launch_enter_hook, "add"):
            knobs.runtime.launch_enter_hook.add(print)

    def work() -> dict[str, Any]:
        knobs.compilation.disable_line_info = True
        before = {**vars(knobs.nvidia), **vars(knobs.runtime)}
        left = left_by(candidate)
        return {
            "left": left,
            "as before": knobs.compilation.disable_line_info,
            "set": {**vars(knobs.nvidia), **vars(knobs.runtime)} != before,
            "hooks": len(getattr(knobs.runtime.launch_enter_hook, "calls", ())),
        }

    assert forked(tmp_path, work) == {"left": "", "as before": True, "set": False, "hooks": 0}

"""`shrink` on a program that hangs in a kernel, with a stand-in for the driver: the virtual GPU launches nothing."""

from __future__ import annotations

import json
import re
from pathlib import Path

from shrinkray_gpu.calibration import IMPORTS
from tests.e2e.command import shrink
from tests.runner.test_hang import driver

__all__ = ["driver"]
SPINS = """\
import ctypes, sys
import torch, triton
import triton.language as tl


@triton.jit
def kernel(x):
    tl.store(x, 1.0)


sys.modules["shrinkray_inside.process.device"].is_initialised = lambda: True  # this process uses a GPU
kernel[(1,)](torch.zeros(1, device="cuda"))
ctypes.CDLL("libcuda.so.1").cuCtxSynchronize()
"""


def test_a_hang_in_a_kernel_waits_for_no_imports(tmp_path: Path, driver: str) -> None:
    (tmp_path / "spins.py").write_text(SPINS)
    settings = ("--env", f"LD_LIBRARY_PATH={driver}", "--env", "GPU_HANGS=1")
    words = ("spins.py", "--arch", "sm_90", "--oracle", "hang:2", "--max-time", "1", "--skip-pass", "lift")
    said = shrink(*words, *settings, cwd=tmp_path)
    assert said.code == 0, said.err
    seconds = re.search(r"kernel kernel does not end within 2 s \(.* runs\), ([\d.]+) s in a cold process", said.err)
    assert seconds and float(seconds[1]) < IMPORTS
    told = json.loads((tmp_path / "spins.shrink" / "result.json").read_text())
    assert (told["verified"], told["final_runs"]) == (1, 1)
    assert list(told["controls"]) == ["num_stages=1", "num_warps=1", "ptxas=-O0"]
    assert not any(why.startswith("passes") for why in told["controls"].values())

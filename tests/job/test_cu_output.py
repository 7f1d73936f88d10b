"""What the program of a .cu shows is judged as the script's own end is. A shell script stands in for the binary."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from shrinkray_gpu.job.cu_output import _run
from shrinkray_gpu.options import Options
from shrinkray_gpu.oracle import Oracle, parse
from shrinkray_gpu.runner.run import Build, Failure, Run

WORDS = "CUDA error: misaligned address"
SHOWN = Run("cold", 1, failure=Failure("torch.AcceleratorError", WORDS), driver_error=716)


def judged(folder: Path, oracle: Oracle, printed: str, status: int) -> str:
    binary = folder / "repro"
    binary.write_text(f"#!/bin/sh\necho '{printed}'\nexit {status}\n")
    binary.chmod(0o755)
    made = Run("plain", 0, builds=(Build("repro.cu"),))
    verdict = oracle.judge(_run(binary, made, oracle, os.environ, Options(python=sys.executable)))
    return "faults" if verdict.faults else verdict.why


def test_an_error_that_main_tells_is_the_script_s(tmp_path: Path) -> None:
    oracle = parse("misaligned address", folder=tmp_path).calibrate(SHOWN)
    assert judged(tmp_path, oracle, "CUDA error 716: misaligned address", 1) == "faults"
    assert "another error" in judged(tmp_path, oracle, "CUDA error 700: an illegal memory access", 1)
    assert "it ends well" in judged(tmp_path, oracle, "CUDA error 0: no error", 0)

"""The CPU in the place of a GPU, made once for each file of tests that asks for it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from shrinkray_gpu.cu.nvcc_trial import NvccTrial
from shrinkray_gpu.cu.on_cpu.cpu_trial import CpuTrial


@pytest.fixture(scope="module")
def cpu(tmp_path_factory: pytest.TempPathFactory) -> CpuTrial:
    folder = tmp_path_factory.mktemp("machine")
    trial = NvccTrial(
        Path(shutil.which("nvcc") or ""), ("-std=c++17",), "k.cu", folder,
        environment=dict(os.environ), hosted=False, cwd=folder,
    )  # fmt: skip
    made = CpuTrial(trial, "g++", folder)
    assert made.prepare() == ""
    return made

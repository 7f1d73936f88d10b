"""What a case needs of the place where it is replayed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from shrinkray_gpu.corpus.machine import ReplayEnvironment, lacking
from shrinkray_gpu.device import toolkit
from tests.corpus.making import case


def test_a_case_about_a_build_needs_nvcc(tmp_path: Path) -> None:
    one = case(tmp_path, oracle=["build:local memory"], fault=None)
    said = lacking(one, one.question(), ReplayEnvironment(sys.executable, 90, False, {"triton": "3.6.0"}))
    assert ("nvcc" in said) == (toolkit.find("nvcc", sys.executable, os.environ) is None)


def test_a_tool_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = case(tmp_path, needs={"tools": ["nvcc"]}, fault=None)
    place = ReplayEnvironment(sys.executable, 90, False, {"triton": "3.6.0"})
    monkeypatch.setattr(toolkit, "TOOLKIT", tmp_path)
    for name, value in {"PATH": str(tmp_path), "CUDA_HOME": "", "CUDA_PATH": ""}.items():
        monkeypatch.setenv(name, value)
    assert lacking(one, one.question(), place).startswith("no nvcc on PATH")
    (tmp_path / "nvcc").symlink_to(sys.executable)
    assert not lacking(one, one.question(), place)


def test_a_case_seen_without_a_gpu_runs_without_one(tmp_path: Path) -> None:
    place = ReplayEnvironment(sys.executable, None, False, {"triton": "3.7.1"})
    compiled = case(tmp_path, "compiled", seen=[{"triton": "3.7.1", "arch": "sm_90"}])
    assert "there is no GPU" in lacking(compiled, compiled.question(), place)
    plain = case(tmp_path, "plain", seen=[{"gpu": "NVIDIA H100"}, {"triton": "3.7.1", "python": "3.11.7"}])
    assert not lacking(plain, plain.question(), place)

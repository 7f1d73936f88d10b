"""A context that a harmless candidate used is taken for the next one: a fresh one costs half a second of the device."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script

pytestmark = pytest.mark.gpu
CHECK = """
import torch
x = torch.randn(64, 64, device="cuda", requires_grad=True)
y = x @ x
y.backward(torch.ones_like(y))
torch.testing.assert_close(y, y + 1)
"""


def test_a_product_of_matrices_and_a_failed_check_leave_a_clean_context(tmp_path: Path) -> None:
    environment = {**os.environ, "TRITON_CACHE_DIR": str(tmp_path / "cache")}
    setup = Setup(sys.executable, environment, ("torch",), own=(), scratch=str(tmp_path), warm=True, reuse=True)
    pool = Pool(Script(tmp_path / "script.py", cwd=tmp_path), setup, mode="fork", jobs=1, seconds=60)
    try:
        runs = [pool.run(CHECK) for _ in range(4)]
        assert all(run.failure is not None and run.failure.type == "AssertionError" for run in runs), runs
        assert [run.mode for run in runs] == ["fork", "warm", "warm", "warm"], pool.retired
        assert {why for why, count in pool.retired.items() if count} == {""}, pool.retired
    finally:
        pool.close()

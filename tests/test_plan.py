"""What is settled before anything runs: who may not run here at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.plan import _refuse_mps, check_python


def test_mps_is_refused_since_one_client_s_fault_would_end_all(tmp_path: Path) -> None:
    _refuse_mps({"CUDA_MPS_PIPE_DIRECTORY": str(tmp_path)})
    (tmp_path / "control").touch()
    with pytest.raises(UsageError, match="CUDA MPS is active"):
        _refuse_mps({"CUDA_MPS_PIPE_DIRECTORY": str(tmp_path)})


def test_an_interpreter_must_be_one() -> None:
    with pytest.raises(UsageError, match="not a Python interpreter"):
        check_python("/bin/echo")

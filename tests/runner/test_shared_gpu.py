"""CUDA MPS is refused, also where somebody turns it on while a candidate runs: that run's fault may be another's."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from shrinkray_gpu.device import gpus
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.runner.shared_gpu import refuse_sharing


@pytest.fixture
def setup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Setup:
    """Of a machine with a GPU, and MPS where the test puts its `control`."""
    monkeypatch.setattr(gpus, "present", lambda: True)
    environment = {**os.environ, "CUDA_MPS_PIPE_DIRECTORY": str(tmp_path)}
    return Setup(sys.executable, environment, (), (), str(tmp_path), writable=(str(tmp_path),))


@pytest.fixture
def pool(setup: Setup, tmp_path: Path) -> Iterator[Pool]:
    with closing(Pool(Script(tmp_path / "failing.py", cwd=tmp_path), setup, mode="fork", jobs=1, seconds=5)) as made:
        yield made


def test_mps_is_refused_at_the_start(setup: Setup, tmp_path: Path) -> None:
    refuse_sharing(setup)
    (tmp_path / "control").touch()
    with pytest.raises(UsageError, match=r"CUDA MPS is active \(.*\): one client's fault"):
        refuse_sharing(setup)
    refuse_sharing(replace(setup, arch=90))  # the virtual GPU has no clients


@pytest.mark.parametrize("way", ["a lane", "a cold process"])
def test_mps_that_is_turned_on_meanwhile_ends_the_reduction(pool: Pool, tmp_path: Path, way: str) -> None:
    run = pool.cold if way == "a cold process" else pool.run
    assert run("print('alone')").stdout == "alone\n"
    with pytest.raises(UsageError, match="turned on meanwhile .* and go on with the same command and --resume"):
        run(f"open({str(tmp_path / 'control')!r}, 'w').close()")
    with pytest.raises(UsageError, match="turned on meanwhile"):
        run("print('a client')")

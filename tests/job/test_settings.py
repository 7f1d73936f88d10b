"""What a resumed reduction must have in common with the first."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.job.asked import settings_of
from shrinkray_gpu.options import Options
from shrinkray_gpu.reduction.journal import Journal
from shrinkray_gpu.reduction.program import read_program
from shrinkray_gpu.runner.lanes import Setup


def setup(folder: Path, triton: str) -> Setup:
    """An interpreter that has this release, as far as its metadata say."""
    place = folder / triton / f"triton-{triton}.dist-info"
    place.mkdir(parents=True)
    (place / "METADATA").write_text(f"Metadata-Version: 2.1\nName: triton\nVersion: {triton}\n")
    environment = {**os.environ, "PYTHONPATH": str(place.parent)}
    return Setup(python=sys.executable, environment=environment, imports=(), own=(), scratch=str(folder))


def test_verdicts_of_another_triton_are_not_gone_on_with(tmp_path: Path) -> None:
    (tmp_path / "failing.py").write_text("raise ValueError\n")
    program, options = read_program(tmp_path / "failing.py"), Options()
    older, newer = (settings_of(options, setup(tmp_path, triton)) for triton in ("3.6.0", "3.9.0"))
    Journal.open(tmp_path / "it", original=program, seed=0, width=6, settings=older).close()
    Journal.open(tmp_path / "it", original=program, seed=0, width=6, settings=older, resume=True).close()
    with pytest.raises(UsageError, match='triton .*"3.6.0" then, "3.9.0" now. changed since. .* use --restart'):
        Journal.open(tmp_path / "it", original=program, seed=0, width=6, settings=newer, resume=True)

"""What torch would need to build extensions, asked of the interpreter that would do it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from shrinkray_gpu.runner.extensions import lacking


def test_a_missing_ninja_is_named(tmp_path: Path) -> None:
    assert "ninja" in lacking(sys.executable, {**os.environ, "PATH": str(tmp_path)})


def test_a_ninja_on_the_path_is_found(tmp_path: Path) -> None:
    ninja = tmp_path / "ninja"
    ninja.write_text("#!/bin/sh\n")
    ninja.chmod(0o755)
    assert "ninja" not in lacking(sys.executable, {**os.environ, "PATH": str(tmp_path)})


def test_an_interpreter_that_is_none_tells_nothing(tmp_path: Path) -> None:
    assert lacking(str(tmp_path / "python"), os.environ) == ""

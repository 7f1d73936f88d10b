"""What a case needs of the place where it is replayed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from shrinkray_gpu.cases.place import Place, lacking
from shrinkray_gpu.runner import toolkit

from .making import case


def test_a_case_about_a_build_needs_nvcc(tmp_path: Path) -> None:
    one = case(tmp_path, oracle=["build:local memory"], fault=None)
    said = lacking(one, one.question(), Place(sys.executable, 90, False, {"triton": "3.6.0"}))
    assert ("nvcc" in said) == (toolkit.find("nvcc", sys.executable, os.environ) is None)

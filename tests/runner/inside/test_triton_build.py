"""The name of Triton's build is computed once for all processes of a reduction, and anew for another build."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from shrinkray_gpu.runner.inside.launches import triton_build

ASK = """
import sys
from shrinkray_gpu.runner.inside.launches import triton_build
if len(sys.argv) > 1:
    triton_build.share(sys.argv[1])
import triton.runtime.cache
print(triton.runtime.cache.triton_key())
"""


def key(*words: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", ASK, *words], capture_output=True, text=True, check=True, timeout=60
    ).stdout.strip()


def test_it_is_triton_s_own_and_others_read_it(tmp_path: Path) -> None:
    pytest.importorskip("triton.runtime.cache")
    first = key(str(tmp_path))
    assert first == key()
    (left,) = tmp_path.iterdir()
    assert left.read_text() == first
    left.write_text("as it was left")
    assert key(str(tmp_path)) == "as it was left"
    assert key(str(tmp_path / "nowhere")) == first, "where nothing can be left it is computed"


def test_another_build_has_another_file(tmp_path: Path) -> None:
    (tmp_path / "_C").mkdir()
    library = tmp_path / "_C" / "libtriton.so"
    library.write_bytes(b"1")
    first = list(triton_build._files(str(tmp_path)))
    os.utime(library, ns=(0, library.stat().st_mtime_ns + 1))
    second = list(triton_build._files(str(tmp_path)))
    library.write_bytes(b"12")
    os.utime(library, ns=(0, 0))
    third = list(triton_build._files(str(tmp_path)))
    assert len({*first, *second, *third}) == 3

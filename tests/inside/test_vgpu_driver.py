"""On a machine with a driver the process that forks dry runs leaves it alone: a child of one that started it cannot."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

COMPILER = shutil.which("cc") or shutil.which("gcc")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(COMPILER is None, reason="no C compiler here"),
]
WARM = """\
import torch
from shrinkray_gpu.runner.inside import vgpu

called, backward = [], torch.Tensor.backward
torch.Tensor.backward = lambda *args, **options: (called.append(1), backward(*args, **options))
vgpu.before_imports()
vgpu.prepare(90)
print(bool(called))
"""


@pytest.mark.parametrize("there", [True, False], ids=["a driver", "no driver"])
def test_backward_is_left_to_the_children_where_it_would_start_the_driver(tmp_path: Path, there: bool) -> None:
    pytest.importorskip("torch")
    assert COMPILER is not None
    if there:
        source = tmp_path / "cuda.c"
        source.write_text("int cuInit(unsigned flags) { return 100; }\n")
        library = ["-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", str(tmp_path / "libcuda.so.1")]
        subprocess.run([COMPILER, *library, str(source)], check=True)
    elif _finds_driver():
        pytest.skip("there is a driver here")
    environment = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path), "TRITON_CACHE_DIR": str(tmp_path / "kernels")}
    done = subprocess.run([sys.executable, "-c", WARM], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(not there)


def _finds_driver() -> bool:
    ask = "import ctypes; ctypes.CDLL('libcuda.so.1')"
    return not subprocess.run([sys.executable, "-c", ask], capture_output=True).returncode

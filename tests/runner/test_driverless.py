"""A dry run finds no driver, whatever the machine has: what starts it in a forked child dies, or waits for ever."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from shrinkray_gpu.device import gpus
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script

FINDS = """\
import ctypes, os
try:
    print("found", ctypes.CDLL("libcuda.so.1").cuInit(0))
except OSError:
    print("none")
print(repr(os.environ["CUDA_VISIBLE_DEVICES"]) if "CUDA_VISIBLE_DEVICES" in os.environ else "all")
print(os.environ["LD_LIBRARY_PATH"].split(os.pathsep)[-1])
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler here")
@pytest.mark.parametrize("mode", ["virtual", "cold"])
@pytest.mark.parametrize("arch", [90, None])
def test_no_driver_is_found_on_the_virtual_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arch: int | None, mode: str
) -> None:
    monkeypatch.setattr(gpus, "DEVICES", tmp_path)
    (tmp_path / "nvidiactl").touch()
    driver, scratch = tmp_path / "driver", tmp_path / "scratch"
    driver.mkdir()
    scratch.mkdir()
    (driver / "cuda.c").write_text("int cuInit(unsigned flags) { return 0; }\n")
    library = ["-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", str(driver / "libcuda.so.1")]
    subprocess.run(["cc", *library, str(driver / "cuda.c")], check=True)
    environment = {**os.environ, "LD_LIBRARY_PATH": str(driver)}
    environment.pop("CUDA_VISIBLE_DEVICES", None)
    setup = Setup(sys.executable, environment, (), (), str(scratch), arch=arch, confine=False)
    pool = Pool(Script(tmp_path / "x.py", cwd=tmp_path), setup, mode=mode, jobs=1, seconds=60)
    try:
        run = pool.run(FINDS)
    finally:
        pool.close()
    alone = ["none", "''"] if arch else ["found 0", "all"]
    assert run.stdout.splitlines() == [*alone, str(driver)], run

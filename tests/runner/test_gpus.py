"""Whether there is a GPU, told without asking the driver; and what NVML says of it, or does not."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from shrinkray_gpu.device import gpus


@pytest.mark.parametrize(
    ("nodes", "visible", "there"),
    [
        (("nvidiactl", "nvidia0", "nvidia-uvm"), None, True),
        (("nvidiactl", "nvidia11"), "GPU-8a", True),
        (("nvidiactl", "nvidia0"), "-1", False),
        (("nvidiactl", "nvidia0"), "", False),
        (("nvidiactl", "nvidia-uvm"), None, False),  # as a library leaves it on a machine without one
        ((), None, False),
    ],
)
def test_a_device_is_there_and_not_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nodes: tuple[str, ...], visible: str | None, there: bool
) -> None:
    for node in nodes:
        (tmp_path / node).touch()
    monkeypatch.setattr(gpus, "DEVICES", tmp_path)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert gpus.present() == there


NVML = """
#include <string.h>
#include <unistd.h>
int nvmlInit_v2(void) { INIT return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned n, void **device) { return 0; }
int nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor) { *major = 9, *minor = 0; return 0; }
int nvmlDeviceGetMemoryInfo(void *device, unsigned long long *sizes) { sizes[0] = 80ull << 30; return 0; }
int nvmlSystemGetDriverVersion(char *text, unsigned size) { strcpy(text, "580.1"); return 0; }
int nvmlDeviceGetName(void *device, char *text, unsigned size) { strcpy(text, "NVIDIA H100"); return 0; }
"""
"""In place of a driver's library: one that answers, or never does."""
ASKS = """
import json, os
from shrinkray_gpu.device import own_commands
from shrinkray_gpu.device import gpus
from shrinkray_gpu.evidence.versions import versions
from shrinkray_gpu.errors import ShrinkError
own_commands.ANSWER = 1.0
try:
    told = [gpus.capability(), gpus.memory()]
except ShrinkError as error:
    told = str(error)
print(json.dumps([told, versions("/bin/false", os.environ, gpu=True)]))
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
@pytest.mark.parametrize(
    ("init", "told", "known"),
    [
        ("", [90, 80.0], {"driver": "580.1", "gpu": "NVIDIA H100"}),
        ("return 9;", [None, 0.0], None),
        ("for (;;) pause();", "NVML gave no answer in 1 s: the GPU may be lost. See what nvidia-smi says", None),
    ],
    ids=["answers", "has no driver", "never returns"],
)
def test_a_library_that_never_returns_is_not_waited_for(tmp_path: Path, init: str, told: object, known: object) -> None:
    (tmp_path / "nvml.c").write_text(NVML.replace("INIT", init))
    made = ["cc", "-shared", "-fPIC", "-o", tmp_path / "libnvidia-ml.so.1", tmp_path / "nvml.c"]
    subprocess.run(made, check=True)
    began = time.monotonic()
    asked = subprocess.run(
        [sys.executable, "-c", ASKS],
        env={"LD_LIBRARY_PATH": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert asked.returncode == 0, asked.stderr
    said, versions = json.loads(asked.stdout)
    assert said[: len(told)] == told if isinstance(told, str) else said == told
    assert known is None or versions == known
    assert time.monotonic() - began < 30


DRIVER = """
#include <string.h>
int cuInit(unsigned flags) { return 0; }
int cuDevicePrimaryCtxRetain(void **context, int device) { *context = (void *)1; return device; }
int cuCtxSetCurrent(void *context) { return context != (void *)1; }
int cuMemAlloc_v2(unsigned long long *memory, size_t size) { *memory = 1ull << 40; return 0; }
int cuMemsetD8_v2(unsigned long long memory, unsigned char value, size_t size) { return memory != 1ull << 40; }
int cuCtxSynchronize(void) { return SYNC; }
int cuMemcpyDtoH_v2(void *host, unsigned long long memory, size_t size) { memset(host, HOLDS, size); return 0; }
"""


@pytest.mark.parametrize(
    ("sync", "holds", "trouble"),
    [
        (0, 7, ""),
        (700, 7, "cuCtxSynchronize gives error 700"),
        (2, 7, ""),  # it has no memory left
        (46, 7, ""),  # it is in exclusive mode, and another's
        (0, 8, "memory does not hold what is written to it"),
        (None, None, "the driver cannot be loaded"),
    ],
)
def test_a_healthy_program_on_a_driver_of_the_tests(
    sync: int | None, holds: int | None, trouble: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("cc") is None:
        pytest.skip("needs a C compiler")
    if sync is None:
        (tmp_path / "libcuda.so.1").write_text("no library")
    else:
        (tmp_path / "driver.c").write_text(DRIVER)
        words = [f"-DSYNC={sync}", f"-DHOLDS={holds}", "-shared", "-fPIC", "-o", "libcuda.so.1", "driver.c"]
        subprocess.run(["cc", *words], cwd=tmp_path, check=True)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    assert gpus.trouble() == trouble

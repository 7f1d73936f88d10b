"""Has this process started CUDA? Asked of a driver that stands in for libcuda."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

INSIDE = Path(__file__).parents[2] / "shrinkray_gpu" / "runner" / "inside"
DRIVER = "int cuCtxGetCurrent(void **context) { *context = 0; return ANSWER; }\n"
ASK = f"""
import importlib.util
spec = importlib.util.spec_from_file_location("device", {str(INSIDE / "process" / "device.py")!r})
device = importlib.util.module_from_spec(spec)
spec.loader.exec_module(device)
device._opened = lambda path: path == "/dev/nvidia-uvm"
print(device.is_initialised(), device.sticky())
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler here")
@pytest.mark.parametrize(("answer", "told"), [(3, "False 0"), (719, "True 719")])
def test_a_process_in_which_only_nvml_looked_has_not_started_cuda(answer: int, told: str, tmp_path: Path) -> None:
    """NVML opens the device as CUDA does, and `import torch.utils.cpp_extension` asks it how many GPUs there are."""
    source = tmp_path / "driver.c"
    source.write_text(DRIVER)
    library = tmp_path / "libcuda.so.1"
    subprocess.run(["cc", "-shared", "-fPIC", f"-DANSWER={answer}", "-o", str(library), str(source)], check=True)
    environment = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", ASK], env=environment, capture_output=True, text=True)
    assert done.stdout.strip() == told, done.stderr


SEVERAL = """
#include <string.h>
static void *now = (void *)1;
static int retained;
int cuCtxGetCurrent(void **context) { *context = now; return 0; }
int cuDeviceGetCount(int *count) { *count = 4; return 0; }
int cuDeviceGet(int *device, int index) { *device = index; return 0; }
int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) { *active = ACTIVE >> device & 1; return 0; }
int cuDevicePrimaryCtxRetain(void **context, int device) { retained++; *context = (void *)(device + 1L); return 0; }
int cuDevicePrimaryCtxRelease_v2(int device) { retained--; return 0; }
int cuCtxPushCurrent_v2(void *context) { now = context; return 0; }
int cuCtxPopCurrent_v2(void **context) { now = (void *)1; return 0; }
int cuCtxSynchronize(void) { return now == (void *)(FAULTS + 1L) ? 700 : retained > 1 ? 999 : 0; }
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler here")
@pytest.mark.parametrize(("active", "faults", "told"), [(5, 2, 700), (5, 0, 700), (5, 1, 0), (1, 2, 0), (7, 3, 0)])
def test_a_fault_on_another_gpu_than_the_current_one_is_seen(
    active: int, faults: int, told: int, tmp_path: Path
) -> None:
    """The last kernel ran on the third of three, and the script went back to the first."""
    (tmp_path / "driver.c").write_text(SEVERAL)
    words = [f"-DACTIVE={active}", f"-DFAULTS={faults}", "-o", "libcuda.so.1", "driver.c"]
    subprocess.run(["cc", "-shared", "-fPIC", *words], cwd=tmp_path, check=True)
    environment = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", ASK], env=environment, capture_output=True, text=True)
    assert done.stdout.strip() == f"True {told}", done.stderr


def test_as_many_gpus_are_used_as_hold_memory_of_torch() -> None:
    """torch counts without the driver, which says nothing any more after a fault."""
    stands_in = """
from types import SimpleNamespace
held = [{"reserved_bytes.all.peak": size} for size in (1 << 20, 0, 4096, 0)]
cuda = SimpleNamespace(is_initialized=lambda: STARTED, device_count=lambda: 4, memory_stats=held.__getitem__)
sys.modules["torch"] = SimpleNamespace(cuda=cuda)
device.is_initialised = lambda: True
print(device.gpus_used())
"""
    for started, used in (("True", "3"), ("False", "0")):
        text = f"import sys\n{ASK[: ASK.index('device._opened')]}{stands_in.replace('STARTED', started)}"
        done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
        assert done.stdout.strip() == used, done.stderr


def test_without_a_driver_nobody_started_it(tmp_path: Path) -> None:
    environment = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path)}
    text = ASK.replace("print(", "import ctypes\ndef gone(name): raise OSError(name)\nctypes.CDLL = gone\nprint(")
    done = subprocess.run([sys.executable, "-c", text], env=environment, capture_output=True, text=True)
    assert done.stdout.strip() == "False 0", done.stderr


DUMPS = f"""
import os, sys, threading, time
{ASK[: ASK.index("device._opened")]}
os.environ["CUDA_COREDUMP_FILE"] = "core.%p"
def write():
    text = open(sys.executable, "rb").read() if WHOLE else b"1234" * 8
    with open(f"core.{{os.getpid()}}", "wb", buffering=0) as core:
        for at in range(8):
            time.sleep(0.4 if WHOLE and at == 7 else 0.05)
            core.write(text[at * len(text) // 8 : (at + 1) * len(text) // 8])
device.DUMPED, device.AT_REST = LIMITS
begun = time.monotonic()
device.sticky = lambda: 716 if time.monotonic() - begun > LATE else 0
thread = threading.Thread(target=write)
if WRITTEN:
    thread.start()
code = device.wait_for_dump(device.sticky())
print(code, bool(code) and thread.is_alive(), "soon" if time.monotonic() - begun < device.DUMPED else "late")
"""


@pytest.mark.parametrize(
    ("late", "written", "whole", "limits", "told"),
    [
        (-1, True, True, (60, 60), "716 False soon"),
        (0.6, True, True, (60, 60), "716 False soon"),
        (0.6, True, False, (60, 1), "716 False soon"),
        (-1, False, False, (1, 0.5), "716 False late"),
        (9, True, True, (2, 0.5), "0 False late"),
    ],
)
def test_a_dump_is_waited_for_until_it_is_whole_and_the_error_there(
    late: float, written: bool, whole: bool, limits: tuple[float, float], told: str, tmp_path: Path
) -> None:
    """The driver reports the error of a short kernel only when its dump is written, and pauses while it writes. Nobody
    waits for ever."""
    text = DUMPS.replace("WRITTEN", str(written)).replace("LATE", str(late)).replace("WHOLE", str(whole))
    text = text.replace("LIMITS", str(limits))
    done = subprocess.run([sys.executable, "-c", text], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.strip() == told, done.stderr


@pytest.mark.parametrize(
    ("flags", "waits"), [("skip_global_memory,skip_abort", True), ("skip_global_memory", False), ("", False)]
)
def test_a_dump_is_waited_for_only_where_one_was_asked_for(flags: str, waits: bool) -> None:
    environment = {**os.environ, "CUDA_COREDUMP_GENERATION_FLAGS": flags}
    text = ASK[: ASK.index("device._opened")] + "print(device.dumping())"
    done = subprocess.run([sys.executable, "-c", text], env=environment, capture_output=True, text=True)
    assert done.stdout.strip() == str(waits), done.stderr

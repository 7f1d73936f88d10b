"""Our own version, and those that a fault depends on, asked without importing torch and without starting CUDA."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from shrinkray_gpu.device.own_commands import answer_of, run_command
from shrinkray_gpu.errors import UsageError

__version__ = "0.1.0"

_ASK = """
import importlib.metadata as metadata, json, sys
found = {"python": sys.version.split()[0]}
for name in ("torch", "triton", "helion"):
    try:
        found[name] = metadata.version(name)
    except metadata.PackageNotFoundError:
        pass
print(json.dumps(found))
"""

_ASK_NVML = """
import ctypes, json
nvml, text, device = ctypes.CDLL("libnvidia-ml.so.1"), ctypes.create_string_buffer(96), ctypes.c_void_p()
size, found = ctypes.c_uint(len(text)), {}
if not nvml.nvmlInit_v2():
    if not nvml.nvmlSystemGetDriverVersion(text, size):
        found["driver"] = text.value.decode(errors="replace")
    if not nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device)):
        if not nvml.nvmlDeviceGetName(device, text, size):
            found["gpu"] = text.value.decode(errors="replace")
    print(json.dumps(found))
"""


def versions(python: str, environment: Mapping[str, str], *, gpu: bool) -> Mapping[str, str]:
    """Of the interpreter that runs the program, its packages, and with `gpu` those of driver and device."""
    found: dict[str, str] = {}
    try:
        done = run_command([python, "-c", _ASK], capture_output=True, text=True, timeout=60, env=dict(environment))
        found.update(json.loads(done.stdout))
    except (OSError, ValueError, subprocess.SubprocessError):
        pass
    return {**found, **(device_versions() if gpu else {})}


def check_same(found: Mapping[str, str], wanted: Mapping[str, str]) -> None:
    """Raises UsageError, to be read behind the name of a host, where it has other versions than these."""
    told = [
        f"{name} {found.get(name, 'not there')} for {wanted.get(name, 'nothing')}"
        for name in sorted({*found, *wanted})
        if found.get(name) != wanted.get(name)
    ]
    if told:
        raise UsageError(
            f"it has {', '.join(told)}, and a verdict may hang on that: install the same there, or choose the nodes"
        )


def device_versions() -> dict[str, str]:
    """Driver and first GPU, by NVML."""
    try:
        found: dict[str, str] = json.loads(answer_of(_ASK_NVML))
    except (TimeoutError, ValueError):  # it gives no answer, or there is none
        return _kernel_module()
    return found


def _kernel_module() -> dict[str, str]:
    try:
        said = Path("/proc/driver/nvidia/version").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    version = re.search(r"\b(\d{3}\.\d+(?:\.\d+)?)\b", said)
    return {"driver": version.group(1)} if version else {}

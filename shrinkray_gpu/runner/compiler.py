"""Can CUDA C++ be compiled here? Asked before a reduction that has to, by a kernel of one line."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from shrinkray_gpu.device import architectures, toolkit
from shrinkray_gpu.device.own_commands import run_command
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.runner.inside.gpu_target import gpu_target

KERNEL = "__global__ void kernel(int* p) { *p = 1; }\n"
SECONDS = 120
HINTS = (
    ("gpu-architecture", "Take another --arch, or a CUDA toolkit that knows this one"),
    ("unsupported gpu", "Take another --arch, or a CUDA toolkit that knows this one"),
    ("unsupported gnu", "Name an older g++: --env NVCC_CCBIN=g++-12, or the newest that the message allows"),
    ("not found", "Install g++, which nvcc preprocesses with"),
    ("no such file", "Install g++, which nvcc preprocesses with"),
)
"""What to do about what nvcc says, in lower case."""
_TELLING = re.compile("error|fatal|not found|No such file")


def check(python: str, environment: Mapping[str, str], arch: int | None) -> None:
    """Raises UsageError, with what to do, where nvcc is missing or compiles nothing for this architecture."""
    if arch and gpu_target(arch).is_amd:
        raise UsageError(
            f"this program builds CUDA C++, which is not compiled for {architectures.name(arch)}: name an architecture "
            "of NVIDIA's, such as --arch sm_90"
        )
    environment = {**os.environ, **environment}
    nvcc = toolkit.find("nvcc", python, environment)
    if nvcc is None:
        raise UsageError(f"this program builds CUDA C++: {toolkit.missing('nvcc')}")
    with tempfile.TemporaryDirectory(prefix="shrink-") as folder:
        source = Path(folder, "kernel.cu")
        source.write_text(KERNEL)
        wanted = [f"-arch={architectures.name(arch)}"] if arch else []
        command = [str(nvcc), "-cubin", *wanted, "-o", f"{folder}/kernel.cubin", str(source)]
        try:
            done = run_command(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                timeout=SECONDS,
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise UsageError(f"this program builds CUDA C++, and {nvcc} cannot be run: {error}") from error
    if done.returncode:
        said = done.stdout.strip() or f"it ends with {done.returncode} and says nothing"
        line = next((each.strip() for each in said.splitlines() if _TELLING.search(each)), said[:200])
        hint = next((what for words, what in HINTS if words in said.lower()), "Mend that first")
        raise UsageError(f"this program builds CUDA C++, and {nvcc} cannot: {line}. {hint}")

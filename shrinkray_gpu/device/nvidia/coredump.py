"""GPU core dumps: the environment that makes the driver write one, and cuda-gdb's words about it, read.

The dump alone names the exception, the kernel, the source line and the very instruction, for 0.3 s more than a plain
run (compute-sanitizer doubles it). The driver writes it as the exception happens, and aborts the process if it may.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from shrinkray_gpu.device.dump import Dump
from shrinkray_gpu.device.nvidia import toolkit
from shrinkray_gpu.device.own_commands import run_command

TOOL = READER = "cuda-gdb"
SECONDS = 120.0
NO_HOST_DUMP = ("/bin/sh", "-c", 'ulimit -c 0; exec "$@"', "sh")
"""Prefix of a command: an abort would leave the host's own core file in the working directory."""

LARGE = 256 << 20
"""Bytes of device memory, of which a dump with memory takes over a second."""
_MEMORY = ("skip_global_memory", "skip_shared_memory", "skip_local_memory", "skip_constbank_memory")
LIGHT = ("skip_nonrelocated_elf_images", *_MEMORY)
"""What a light dump lacks, as the driver's flags. With constants, that of a kernel that prints was cut off at 67 KB,
and told nothing; without them it has 157 MB, and names the instruction (benchmarks/core_dumps.py; 580.159, H200)."""


_FOCUS = re.compile(r"\[Current focus set to CUDA kernel .*?block (\([\d,]+\)), thread (\([\d,]+\))")
_EXCEPTION = re.compile(r"^CUDA Exception: (.+?)\s*$|^(Assertion failed)\.\s*$", re.MULTILINE)
_TRIGGERED = re.compile(r"^The exception was triggered at PC 0x[0-9a-f]+.*?(?:\(([^()]*):(\d+)\))?\s*$", re.MULTILINE)
_KERNEL = re.compile(r"^#\d+\s+(?:0x[0-9a-f]+ in )?(.+?)<<<.*>>>", re.MULTILINE)
_PLACE = re.compile(r"^#0\s.* at (.*):(\d+)\s*$", re.MULTILINE)
_CODE = re.compile(r"^([*=]{1,2}>)\s*0x[0-9a-f]+ <(.+?)(?:\+(\d+))?>:\s*(.+?)\s*$", re.MULTILINE)


def environment(path: Path, *, memory: bool = True, abort: bool = True) -> Mapping[str, str]:
    """For the process: write a dump to `path` at an exception. Then the driver ends it, unless `abort` is false.

    Without `memory` it is light: registers and code. With it, of a table of 2 GB, it takes 15 s; so it does with the
    variable for light dumps alone, which this driver does not regard. (580.159, H100)
    """
    flags = [*(() if memory else LIGHT), *(() if abort else ("skip_abort",))]
    return {
        "CUDA_ENABLE_COREDUMP_ON_EXCEPTION": "1",
        "CUDA_ENABLE_LIGHTWEIGHT_COREDUMP": "1",
        "CUDA_COREDUMP_FILE": str(path),
        **({"CUDA_COREDUMP_GENERATION_FLAGS": ",".join(flags)} if flags else {}),
    }


VARIABLES = frozenset(environment(Path(), abort=False))


def parse(text: str) -> Dump:
    """What cuda-gdb printed, as facts."""
    focus, frame, place = _FOCUS.search(text), _KERNEL.search(text), _PLACE.search(text)
    exception, triggered = _EXCEPTION.search(text), _TRIGGERED.search(text)
    lines = list(_CODE.finditer(text))
    # `*>` marks the instruction that the hardware names, `=>` where the thread stands: up to some instructions later.
    exact = next((found for found in lines if found.group(1).startswith("*")), None)
    code = exact or (lines[0] if lines else None)
    file, line = (place.group(1), int(place.group(2))) if place else ("", 0)
    if triggered and triggered.group(1):  # the frame's line is where the thread stood when it stopped
        line = int(triggered.group(2))
        file = file if Path(file).name == triggered.group(1) else triggered.group(1)
    kernel = frame.group(1) if frame else code.group(2) if code else ""
    return Dump(
        exception=(exception.group(1) or exception.group(2)) if exception else "",
        kernel=kernel,
        offset=int(code.group(3) or 0) if code else -1,
        instruction=code.group(4) if code else "",
        precise=exact is not None,
        file=file,
        line=line,
        block=focus.group(1) if focus else "",
        thread=focus.group(2) if focus else "",
        text=text,
    )


def read(tool: Path, core: Path) -> Dump | None:
    """Ask cuda-gdb about a dump; None if it says nothing of a kernel."""
    questions = (
        "set pagination off",
        f"target cudacore {core}",
        "info cuda kernels",
        "x/1i $pc",
        "print $errorpc",
        "x/1i $errorpc",
        "info symbol $errorpc",
    )
    asked = (word for question in questions for word in ("-ex", question))
    command = [*NO_HOST_DUMP, str(tool), "-batch", "-nx", *asked]  # of a dump cut short it dies, and dumps core itself
    try:
        done = run_command(command, capture_output=True, timeout=SECONDS, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.SubprocessError):
        return None
    found = parse(done.stdout.decode(errors="replace"))
    return found if found.kernel else None


def find(python: str, environment: Mapping[str, str]) -> Path | None:
    """cuda-gdb, or None."""
    return toolkit.find(TOOL, python, environment)

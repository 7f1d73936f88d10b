"""What ptxas says of the kernels of a build (`-Xptxas -v`): registers, stack, spills, shared memory; and of PTX."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from shrinkray_gpu.device.own_commands import run_command
from shrinkray_gpu.runner.run import Build

_ENTRY = re.compile(r"Compiling entry function '(?P<name>[^']+)'")
_FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")


@dataclass(frozen=True)
class Assembled:
    """What one ptxas made of some PTX."""

    accepted: bool
    said: str
    version: str
    """Of the ptxas, `12.8.93`; empty where it does not tell."""
    command: str


def assemble(tool: Path, ptx: str, *options: str, seconds: float) -> Assembled:
    """Give PTX to a ptxas, as Triton does, for the target that it names."""
    target = re.search(r"^\.target\s+(\w+)", ptx, re.MULTILINE)
    arch = [f"--gpu-name={target[1]}"] if target else []
    words = ["-v", "-lineinfo", *arch, *options, "kernel.ptx", "-o", "kernel.cubin"]
    with tempfile.TemporaryDirectory(prefix="shrink-") as folder:
        Path(folder, "kernel.ptx").write_text(ptx, encoding="utf-8")

        def run(*words: str) -> tuple[int, str]:
            try:
                command = [str(tool), *words]
                done = run_command(command, cwd=folder, capture_output=True, text=True, timeout=seconds)
            except subprocess.TimeoutExpired:
                return 1, f"no end within {seconds:g} s"
            except OSError as error:
                return 1, str(error)
            return done.returncode, done.stdout + done.stderr or f"exit status {done.returncode}"

        version = re.search(r"\bV(\d[\d.]+)", run("--version")[1])
        status, said = run(*words)
    return Assembled(status == 0, said, version[1] if version else "", f"ptxas {' '.join(words)}")


@dataclass(frozen=True)
class Usage:
    """Of one kernel; sizes in bytes. Shared memory is what is declared with its size."""

    kernel: str
    registers: int = 0
    stack: int = 0
    spills: int = 0
    shared: int = 0


def usages(printed: str) -> list[Usage]:
    """One for each kernel in what nvcc printed. A frame told of another function (one not inlined) is not counted."""
    found: list[Usage] = []
    parts = _ENTRY.split(printed)
    for name, text in zip(parts[1::2], parts[2::2]):
        frame, used, shared = _FRAME.search(text), _USED.search(text), _SHARED.search(text)
        found.append(
            Usage(
                name,
                registers=int(used[1]) if used else 0,
                stack=int(frame[1]) if frame else 0,
                spills=int(frame[2]) + int(frame[3]) if frame else 0,
                shared=int(shared[1]) if shared else 0,
            )
        )
    return found


def resource_line(builds: Iterable[Build]) -> str:
    """In one line, the most that any kernel uses; empty where no build tells."""
    found = {usage.kernel: usage for build in builds for usage in usages(build.printed)}.values()
    if not found:
        return ""
    kernels = "1 kernel" if len(found) == 1 else f"{len(found)} kernels, at most"
    most = {name: max(getattr(each, name) for each in found) for name in ("registers", "stack", "spills", "shared")}
    return (
        f"{kernels} {most['registers']} registers, {most['stack']} bytes of stack, {most['spills']} of spills, "
        f"{most['shared']} of shared memory"
    )

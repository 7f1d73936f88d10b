"""What ptxas says of the kernels of a build (`-Xptxas -v`): registers, stack, spills, shared memory; and of PTX."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from shrinkray_gpu.device import toolkit
from shrinkray_gpu.device.own_commands import ANSWER, printed_by, run_command
from shrinkray_gpu.errors import UsageError
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


def own_ptxas(python: str, environment: Mapping[str, str], arch: int | None) -> Path | None:
    """The ptxas that Triton calls for this architecture; None where none is at hand."""
    newest = toolkit.find("ptxas-blackwell", python, environment) if (arch or 0) >= 100 else None
    given = environment.get("TRITON_PTXAS_PATH")
    return Path(given) if given else newest or toolkit.find("ptxas", python, environment)


def version(tool: Path) -> str:
    """The release of a tool of CUDA's, `12.8.93`; empty where it does not tell."""
    found = re.search(r"\bV(\d[\d.]+)", printed_by([tool, "--version"], seconds=ANSWER))
    return found[1] if found else ""


@dataclass(frozen=True)
class PtxasRun:
    """How one process of ptxas ended. `status` is None where its time was over, and negative for a signal."""

    status: int | None
    said: str
    cubin: bytes = b""


def run_ptxas(tool: Path, ptx: str, options: Sequence[str], *, seconds: float) -> PtxasRun:
    """Give PTX to a ptxas with these options. Raises UsageError where it cannot be started."""
    with tempfile.TemporaryDirectory(prefix="shrink-") as folder:
        Path(folder, "kernel.ptx").write_text(ptx, encoding="utf-8")
        command = [str(tool), *options, "kernel.ptx", "-o", "kernel.cubin"]
        try:
            done = run_command(command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=seconds)
        except subprocess.TimeoutExpired:
            return PtxasRun(None, f"no end within {seconds:g} s")
        except OSError as error:
            raise UsageError(f"cannot run {tool}: {error.strerror}. Name another by --ptxas") from error
        made = Path(folder, "kernel.cubin")
        return PtxasRun(done.returncode, done.stdout + done.stderr, made.read_bytes() if made.exists() else b"")


def assemble(tool: Path, ptx: str, *options: str, seconds: float) -> Assembled:
    """Give PTX to a ptxas, as Triton does, for the target that it names."""
    target = re.search(r"^\.target\s+(\w+)", ptx, re.MULTILINE)
    arch = [f"--gpu-name={target[1]}"] if target else []
    words = ["-v", "-lineinfo", *arch, *options]
    try:
        run = run_ptxas(tool, ptx, words, seconds=seconds)
    except UsageError as error:
        run = PtxasRun(1, str(error))
    said = run.said or f"exit status {run.status}"
    return Assembled(run.status == 0, said, version(tool), f"ptxas {' '.join(words)} kernel.ptx -o kernel.cubin")


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

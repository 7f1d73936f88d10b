"""What any program launches on NVIDIA's driver, recorded by a library that is preloaded into it (`launch_recorder.c`).

The library is compiled by the machine's C compiler when it is first needed, and kept by the hash of its source. It
needs no header of CUDA.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shrinkray_gpu.device.own_commands import run_command
from shrinkray_gpu.errors import UsageError

SOURCE = Path(__file__).with_name("launch_recorder.c")
FLAGS = ("-shared", "-fPIC", "-O2", "-std=gnu11", "-w", "-fvisibility=hidden")
LIBRARIES = ("-ldl", "-lpthread")
SECONDS = 60.0


@dataclass(frozen=True)
class Pointer:
    """A place in an argument that points into memory of the device."""

    at: int
    """Bytes from the argument's start."""
    memory: int
    offset: int


@dataclass(frozen=True)
class Parameter:
    offset: int
    data: bytes | None
    """As the kernel gets it; None where the launch does not tell."""
    pointers: tuple[Pointer, ...]


@dataclass(frozen=True)
class DeviceMemory:
    """An allocation that an argument points into."""

    size: int
    """In bytes."""
    fill: bytes = b""
    """What repeats in it."""
    file: str = ""
    """Its contents, in the record's folder. Without fill and file nobody has read it."""


@dataclass(frozen=True)
class RecordedLaunch:
    number: int
    process: str
    kernel: str
    """As the module calls it."""
    how: str
    """`plain`, `cooperative`, `attributes`."""
    image: str
    """The module's file; empty where it is not known."""
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int
    parameters: tuple[Parameter, ...]
    memory: tuple[DeviceMemory, ...]
    status: int | None
    """Of the launch itself, then of the device when it was done; None where the record breaks off."""


def library(folder: Path | None = None) -> Path:
    """The library, compiled if this source was not compiled before. Raises UsageError where it cannot be."""
    source = SOURCE.read_bytes()
    name = f"launch_recorder-{hashlib.sha256(source + repr(FLAGS).encode()).hexdigest()[:16]}.so"
    cache = folder or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "shrinkray_gpu"
    made = cache / name
    if made.exists():
        return made
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise UsageError("launches are recorded by a small library in C: install a C compiler (cc)")
    new = made.with_name(f"{name}.{os.getpid()}")
    try:
        cache.mkdir(parents=True, exist_ok=True)
        command = [compiler, *FLAGS, "-o", str(new), str(SOURCE), *LIBRARIES]
        done = run_command(command, capture_output=True, text=True, timeout=SECONDS)
        if done.returncode:
            raise UsageError(f"{compiler} does not compile {SOURCE}: {done.stderr.strip()[:300]}")
        new.replace(made)
    except (OSError, subprocess.SubprocessError) as error:
        raise UsageError(f"the library that records launches cannot be made in {cache}: {error}") from error
    return made


def environment(given: Mapping[str, str], made: Path, folder: Path, keep: int | None = None) -> dict[str, str]:
    """For a program that is to be recorded in this folder. Contents are kept of the launch that fails, and of number
    `keep`."""
    kept = {} if keep is None else {"SHRINK_RECORD_KEEP": str(keep)}
    return {**given, **_preloaded(given, made), "SHRINK_RECORD": str(folder), **kept}


def _preloaded(given: Mapping[str, str], made: Path) -> dict[str, str]:
    return {"LD_PRELOAD": " ".join(filter(None, [str(made), given.get("LD_PRELOAD", "")]))}


@dataclass(frozen=True)
class Room:
    """A control: so many times the memory, or the shared memory of each launch, that the program asks for."""

    kind: str
    """`memory`, `shared`."""
    factor: int

    def __str__(self) -> str:
        return f"{self.factor} times the {'shared memory' if self.kind == 'shared' else 'memory'}"

    def environment(self, given: Mapping[str, str], made: Path) -> dict[str, str]:
        return {**given, **_preloaded(given, made), f"SHRINK_ROOM_{self.kind.upper()}": str(self.factor)}


def read(folder: Path) -> tuple[RecordedLaunch, ...]:
    """The launches of each process, in their order."""
    return tuple(
        launch for path in sorted(folder.glob("launches.*.jsonl")) for launch in _read(path.read_bytes(), path.name)
    )


def _read(data: bytes, name: str) -> Iterator[RecordedLaunch]:
    process = name.split(".")[1]
    events = list(_events(data))
    images = {each["module"]: each["file"] for each in events if each["event"] == "module"}
    ends = {each["launch"]: each["status"] or each["device"] for each in events if each["event"] == "end"}
    for each in events:
        if each["event"] == "launch":
            yield RecordedLaunch(
                each["launch"],
                process,
                each["kernel"],
                each["how"],
                images.get(each["module"], ""),
                tuple(each["grid"]),
                tuple(each["block"]),
                each["shared"],
                tuple(map(_parameter, each["parameters"])),
                tuple(
                    DeviceMemory(one["bytes"], bytes.fromhex(one.get("fill", "")), one.get("file", ""))
                    for one in each["memory"]
                ),
                ends.get(each["launch"]),
            )


def _events(data: bytes) -> Iterator[dict[str, Any]]:
    for line in data.splitlines():
        try:
            yield json.loads(line)
        except ValueError:  # the program died as it was written
            return


def _parameter(told: Mapping[str, Any]) -> Parameter:
    data = bytes.fromhex(told["data"]) if "data" in told else None
    return Parameter(told["offset"], data, tuple(Pointer(**each) for each in told.get("pointers", ())))

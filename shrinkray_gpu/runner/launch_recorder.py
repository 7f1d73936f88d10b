"""What any program launches on NVIDIA's driver, recorded by a library that is preloaded into it (`launch_recorder.c`).

The library is compiled by the machine's C compiler when it is first needed, and kept by the hash of its source. It
needs no header of CUDA.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shrinkray_gpu.device.own_commands import run_command
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.runner.plain_file import open_left

SOURCE = Path(__file__).with_name("launch_recorder.c")
FLAGS = ("-shared", "-fPIC", "-O2", "-std=gnu11", "-w", "-fvisibility=hidden")
LIBRARIES = ("-ldl", "-lpthread")
SECONDS = 60.0
_SEPARATORS = re.compile(r"[ :]")
"""Of paths in LD_PRELOAD."""


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
    pointers: bool = False
    """Whether it holds addresses of memory of the device."""


@dataclass(frozen=True)
class RecordedLaunch:
    number: int
    process: str
    kernel: str
    """As the module calls it."""
    how: str
    """`plain`, `cooperative`, `attributes`; `late` where it failed by an error that was there before it."""
    image: str
    """The module's file; empty where it is not known."""
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int
    parameters: tuple[Parameter, ...]
    memory: tuple[DeviceMemory, ...]
    status: int | None
    """Of the launch itself, then of the device when it was done; None where the record breaks off."""
    captured: bool = False
    """Whether it was recorded into a graph of CUDA, and did not run by itself."""


def library(folder: Path | None = None) -> Path:
    """The library, compiled if this source was not compiled before. Raises UsageError where it cannot be."""
    source = SOURCE.read_bytes()
    machine = os.uname().machine, os.confstr("CS_GNU_LIBC_VERSION")  # several of them may share a home
    name = f"launch_recorder-{hashlib.sha256(source + repr((FLAGS, machine)).encode()).hexdigest()[:16]}.so"
    cache = folder or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "shrinkray_gpu"
    made = cache / name
    if _SEPARATORS.search(str(made)):
        raise UsageError(f"LD_PRELOAD takes no path with a blank or a colon, as {cache} is: set XDG_CACHE_HOME")
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
    return tuple(launch for path in sorted(folder.glob("launches.*.jsonl")) for launch in _read(path))


def _read(path: Path) -> Iterable[RecordedLaunch]:
    process = path.name.split(".")[1]
    images: dict[int, str] = {}
    launches: dict[int, RecordedLaunch] = {}
    for event in _events(path):
        if event["event"] == "module":
            images[event["module"]] = event["file"]
        elif event["event"] == "launch":
            launches[event["launch"]] = _launch(event, process, images)
        elif event["launch"] in launches:
            launch, status = launches[event["launch"]], event["status"] or event["device"]
            how = "late" if status and event["before"] else launch.how
            launches[launch.number] = replace(launch, status=status, how=how)
    return launches.values()


def _events(path: Path) -> Iterator[dict[str, Any]]:
    with suppress(OSError), open(path, "rb", opener=open_left) as lines:
        for line in lines:
            try:
                yield json.loads(line.decode("utf-8", "surrogateescape"))
            except ValueError:  # the program died as it was written, or the disk was full
                continue


def _launch(told: Mapping[str, Any], process: str, images: Mapping[int, str]) -> RecordedLaunch:
    return RecordedLaunch(
        told["launch"],
        process,
        told["kernel"],
        told["how"],
        images.get(told["module"], ""),
        tuple(told["grid"]),
        tuple(told["block"]),
        told["shared"],
        tuple(map(_parameter, told["parameters"])),
        tuple(map(_memory, told["memory"])),
        None,
        told["captured"],
    )


def _memory(told: Mapping[str, Any]) -> DeviceMemory:
    fill = bytes.fromhex(told.get("fill", ""))
    return DeviceMemory(told["bytes"], fill, told.get("file", ""), told.get("pointers", False))


def _parameter(told: Mapping[str, Any]) -> Parameter:
    data = bytes.fromhex(told["data"]) if "data" in told else None
    return Parameter(told["offset"], data, tuple(Pointer(**each) for each in told.get("pointers", ())))

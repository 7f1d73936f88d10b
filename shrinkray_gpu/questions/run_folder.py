"""A fresh folder for what one run of a command leaves: the environment as it was, the files, and their checksums."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from shrinkray_gpu.device import architectures, toolkit
from shrinkray_gpu.device.own_commands import printed_by
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.evidence.versions import __version__
from shrinkray_gpu.runner.scratch_folder import remove_folder

SUMS = "SHA256SUMS"
_TELLING = ("TRITON_", "CUDA_", "TORCH", "PYTORCH_", "LLVM_", "MLIR_", "DISABLE_", "PTXAS", "NVIDIA_TF32")
"""Beginnings of the variables that a compiler, torch or the driver reads."""


def fresh(parent: Path) -> Path:
    """A new folder `001`, `002`, ... in there: no run writes over another, and two at once get one each."""
    try:
        parent.mkdir(parents=True, exist_ok=True)
        numbers = [int(entry.name) for entry in parent.iterdir() if entry.name.isdigit()]
        number = max(numbers, default=0) + 1
        while True:
            try:
                (folder := parent / f"{number:03}").mkdir()
                return folder
            except FileExistsError:
                number += 1
    except OSError as error:
        raise UsageError(f"cannot write {parent}: {error.strerror}. Choose another place by --output") from error


@contextmanager
def folder_of(parent: Path) -> Iterator[Path]:
    """A fresh folder for what comes of the work in this context, which may take hours: a place that cannot be written
    is told before it. Where the work comes to nothing, there is no folder either."""
    there = parent.exists()
    folder = fresh(parent)
    try:
        yield folder
    except BaseException:
        remove_folder(folder)
        if not there:
            with suppress(OSError):
                parent.rmdir()
        raise


def fill(folder: Path, save: Callable[[], None]) -> str:
    """Write what was found, by `save`. Returns why that failed, else nothing: what was found can still be printed."""
    try:
        save()
    except OSError as error:
        remove_folder(folder)
        why = error.strerror or error
        return f"cannot write {folder}: {why}. Make room there, or choose another place by --output"
    return ""


def environment(
    python: str, versions: Mapping[str, str], *, arch: int | None, variables: Mapping[str, str]
) -> dict[str, Any]:
    """What a result depends on besides the program: versions, the compiler's assembler, telling variables."""
    return {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "shrink": __version__,
        "architecture": f"{architectures.name(arch)} (compiled for, nothing launched)" if arch else "the GPU's own",
        "versions": dict(versions),
        "ptxas": _ptxas(python, variables),
        "variables": {name: value for name, value in sorted(variables.items()) if name.startswith(_TELLING)},
    }


def _ptxas(python: str, variables: Mapping[str, str]) -> str:
    tool = variables.get("TRITON_PTXAS_PATH") or toolkit.find("ptxas", python, variables)
    said = printed_by([tool, "--version"]) if tool else ""
    return next((line.strip() for line in said.splitlines() if "release" in line), "")


def write(folder: Path, name: str, content: str | bytes | Mapping[str, Any]) -> None:
    """A file of the folder; data as JSON."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        text = content if isinstance(content, str) else json.dumps(content, indent=1, sort_keys=True) + "\n"
        path.write_text(text, encoding="utf-8")


def seal(folder: Path) -> None:
    """Write the checksums of all that is in the folder; `sha256sum -c SHA256SUMS` checks them."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != SUMS)
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder)}\n" for path in files]
    (folder / SUMS).write_text("".join(lines), encoding="utf-8")


def display_path(folder: Path) -> str:
    """The folder as the user would type it."""
    return os.path.relpath(folder)

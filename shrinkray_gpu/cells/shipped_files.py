"""Files that go to another host with a cell, and those that come back with its row."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from shrinkray_gpu.errors import UsageError

LARGEST = 512 << 20
"""Bytes of a folder that is shipped."""
OUR_JOURNAL = "journal.jsonl"
Files = Mapping[str, bytes]
"""Those below a folder, by their paths in it; a single file by an empty path."""


def packed(path: Path) -> Files:
    """Raises UsageError for a folder that is too large."""
    if path.is_file():
        return {"": path.read_bytes()}
    found, total = {}, 0
    for file in _shipped(path):
        total += file.stat().st_size
        if total > LARGEST:
            raise UsageError(
                f"{path} has more than {LARGEST >> 20} MiB, which each node would get: name the folder that holds "
                "what is run, and little else"
            )
        found[str(file.relative_to(path))] = file.read_bytes()
    return found


def unpacked(path: Path, files: Files, within: Path) -> Path:
    """A new folder in `within` with these files, or the one file, of the same name as `path`."""
    made = Path(tempfile.mkdtemp(dir=within)) / path.absolute().name
    write(files, made)
    return made


def write(files: Files, folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    if "" not in files:
        folder.mkdir(exist_ok=True)
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def _in_json(name: str) -> str:
    return json.dumps(name)[1:-1]


def renamed(text: str, names: Mapping[str, str], written: Callable[[str], str] = _in_json) -> str:
    """With the second of each pair of names for the first. `written`: how a name stands in it."""
    for before, now in names.items():
        text = text.replace(written(before), written(now))
    return text


def _shipped(folder: Path) -> Iterator[Path]:
    """The files below it, without what tools leave there: hidden folders, environments, our own results."""
    for name, below, files in os.walk(folder):
        here = Path(name)
        below[:] = sorted(each for each in below if not _is_left_by_a_tool(here / each))
        yield from (here / each for each in sorted(files) if (here / each).is_file())


def _is_left_by_a_tool(folder: Path) -> bool:
    hidden = folder.name.startswith(".") or folder.name in ("__pycache__", "node_modules")
    return hidden or any((folder / each).exists() for each in ("pyvenv.cfg", OUR_JOURNAL))

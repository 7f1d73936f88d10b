"""Files that go to another host with a cell, and those that come back with its row."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

from shrinkray_gpu.errors import UsageError

T = TypeVar("T")
LARGEST = 512 << 20
"""Bytes of a folder that is shipped."""
OUR_JOURNAL = "journal.jsonl"
_BEGINS = r"(?:(?<![\w.~@%+/})\]*?-])|(?<=://)|(?<=\\[nrt])|(?<=\A-[A-Z])|(?<=[\s\"'=,;:]-[A-Z]))"
"""Before a path: nothing that could be part of it, but for `file://`, an escape and an option as `-I`."""
_ENDS = r"(?![\w~@%+-]|\.\w)"
Files = Mapping[str, bytes]
"""Those below a folder, by their paths in it; a single file by an empty path."""


def outermost(folders: Iterable[Path]) -> tuple[Path, ...]:
    """Those that lie in no other of them."""
    found = sorted(set(folders), key=lambda path: len(path.parts))
    return tuple(each for each in found if not any(other in each.parents for other in found))


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


def renamed(told: T, names: Mapping[str, str]) -> T:
    """A text, or what JSON may hold, with the second of each pair of paths for the first: where that is a whole path,
    or leads one. So `/data` is in `/data/x` and in `-I/data`, and neither in `/dataset` nor in `/mnt/data`."""
    longest_first = sorted(filter(None, names), key=len, reverse=True)
    if not longest_first:
        return told
    path = re.compile(f"{_BEGINS}(?:{'|'.join(map(re.escape, longest_first))}){_ENDS}")

    def other(each: Any) -> Any:
        if isinstance(each, str):
            return path.sub(lambda found: names[found[0]], each)
        if isinstance(each, dict):
            return {other(name): other(value) for name, value in each.items()}
        return [*map(other, each)] if isinstance(each, (list, tuple)) else each

    return cast(T, other(told))


def _shipped(folder: Path) -> Iterator[Path]:
    """The files below it, without what tools leave there: hidden folders, environments, our own results."""
    for name, below, files in os.walk(folder):
        here = Path(name)
        below[:] = sorted(each for each in below if not _is_left_by_a_tool(here / each))
        yield from (here / each for each in sorted(files) if (here / each).is_file())


def _is_left_by_a_tool(folder: Path) -> bool:
    hidden = folder.name.startswith(".") or folder.name in ("__pycache__", "node_modules")
    return hidden or any((folder / each).exists() for each in ("pyvenv.cfg", OUR_JOURNAL))

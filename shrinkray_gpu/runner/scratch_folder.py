"""Folders that candidates fill, and their removal."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def scratch_folder(parent: Path | str, prefix: str = "t") -> Iterator[str]:
    """An empty folder that is removed in the end. A process that was killed cannot do it, so the tool does.

    Not by TemporaryDirectory: of a link that cannot be removed, older ones change the target's permissions.
    """
    folder = tempfile.mkdtemp(dir=parent, prefix=prefix)
    try:
        yield folder
    finally:
        remove_folder(folder)


def remove_folder(folder: Path | str) -> None:
    """Remove a folder with all that is in it, as far as that is allowed.

    Candidates may nest folders without end, and `shutil.rmtree` takes a frame and an open file for each level. So what
    is in an inner folder is moved up first. No link is followed, even if processes still change the folder.
    """
    with suppress(OSError), _opened(folder) as top:
        waiting = _without_files(top)
        while waiting:
            name = waiting.pop()
            with suppress(OSError), _opened(name, top) as inner:
                waiting += _moved_up(inner, top)
            with suppress(OSError):
                os.rmdir(name, dir_fd=top)
    with suppress(OSError):
        os.rmdir(folder)


@contextmanager
def _opened(folder: Path | str, parent: int | None = None) -> Iterator[int]:
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        yield number
    finally:
        os.close(number)


def _without_files(folder: int) -> list[str]:
    """Remove the files in there; the names of the folders."""
    with os.scandir(folder) as entries:
        found = [(each.name, each.is_dir(follow_symlinks=False)) for each in entries]
    for name, is_folder in found:
        if not is_folder:
            with suppress(OSError):
                os.unlink(name, dir_fd=folder)
    return [name for name, is_folder in found if is_folder]


def _moved_up(inner: int, top: int) -> Iterator[str]:
    for name in _without_files(inner):
        new = secrets.token_hex(16)
        with suppress(OSError):
            os.rename(name, new, src_dir_fd=inner, dst_dir_fd=top)
            yield new

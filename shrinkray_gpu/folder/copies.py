"""A copy of the folder, in which the command runs for one candidate after another.

Nothing is linked to the user's own files but virtual environments: what a command changes in the copy is seen by the
times that the kernel keeps, and put right before the next candidate. So a try costs a walk, and no copying.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from shrinkray_gpu.folder.contents import ENVIRONMENT, FolderContents
from shrinkray_gpu.folder.tree import FileTree

Signature = tuple[int, ...]
CARRIED = "\0carried"
"""In place of the text of what is carried along."""


class FolderCopy:
    """One copy. Used by one thread at a time."""

    def __init__(self, contents: FolderContents, folder: Path) -> None:
        """`folder` is for this copy alone."""
        self.contents, self.scratch = contents, folder / "scratch"
        self.place = folder / "copy" / contents.root.name
        self.place.mkdir(parents=True)
        self.scratch.mkdir(exist_ok=True)
        self.placed: dict[str, tuple[str, Signature]] = {}
        """What was put in the copy, and what the kernel told of it."""

    def prepare(self, tree: FileTree) -> None:
        """Make it what the candidate is, whatever the command left in it."""
        for leftover in self.scratch.iterdir():
            _remove(leftover)
        wanted = {**dict.fromkeys(tree.carried, CARRIED), **tree.texts}
        folders = {parent for path in (*wanted, *self.contents.empty) for parent in _above(path)}
        folders |= self.contents.empty
        kept = set(self._walk(wanted, folders))
        for path in sorted(folders):
            (self.place / path).mkdir(exist_ok=True)
        for path, text in wanted.items():
            if path not in kept:
                self._put(path, text)

    def _walk(self, wanted: dict[str, str], folders: set[str], folder: str = "") -> Iterator[str]:
        """Those of `wanted` that are in place; what else is there goes."""
        (self.place / folder).chmod(0o755)
        for entry in [*os.scandir(self.place / folder)]:
            path = os.path.join(folder, entry.name)
            placed = self.placed.get(path)
            if path in folders and entry.is_dir(follow_symlinks=False):
                yield from self._walk(wanted, folders, path)
            elif placed is not None and placed == (wanted.get(path), _signature(self.place / path)):
                yield path
            else:
                _remove(Path(entry.path))

    def _put(self, path: str, text: str) -> None:
        source, place = self.contents.root / path, self.place / path
        if text != CARRIED:
            place.write_text(text, encoding="utf-8", newline="")
            before = source.stat()
            place.chmod(stat.S_IMODE(before.st_mode) | stat.S_IRUSR)
            if text == self.contents.texts[path]:  # for make: what it says of the time is as true as it was
                os.utime(place, ns=(before.st_atime_ns, before.st_mtime_ns))
        elif source.is_symlink():
            place.symlink_to(_link(self.contents.root, path))
        elif self.contents.carried[path] == ENVIRONMENT:
            place.symlink_to(source)
        elif source.is_dir():
            shutil.copytree(source, place, symlinks=True)
        else:
            shutil.copy2(source, place)
        self.placed[path] = (text, _signature(place))


def _link(root: Path, path: str) -> str:
    """Where a link of the folder leads to in a copy: as it is written, unless that is an absolute path into it."""
    target = os.readlink(root / path)
    outside = Path(os.path.realpath(root / path))
    if root not in (outside, *outside.parents):
        return str(outside)
    return os.path.relpath(target, root / os.path.dirname(path)) if os.path.isabs(target) else target


def _signature(place: Path) -> Signature:
    """Of a file, a link, or a folder with all that is in it: no change leaves it as it was."""
    told = place.lstat()
    own = (told.st_ino, told.st_mode, told.st_size, told.st_mtime_ns, told.st_ctime_ns)
    if not stat.S_ISDIR(told.st_mode):
        return own
    inner = (_signature(Path(entry.path)) for entry in sorted(os.scandir(place), key=lambda each: each.name))
    return (*own, *(number for each in inner for number in each))


def _above(path: str) -> Iterator[str]:
    while path := os.path.dirname(path):
        yield path


def _remove(place: Path) -> None:
    if place.is_symlink() or not place.is_dir():
        place.unlink(missing_ok=True)
        return
    place.chmod(0o700)
    for folder, names, _ in os.walk(place):
        for name in names:
            if not os.path.islink(inner := os.path.join(folder, name)):
                os.chmod(inner, 0o700)
    shutil.rmtree(place)

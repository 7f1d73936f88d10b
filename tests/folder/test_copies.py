"""A copy is put right again, whatever a command did in it, and the user's folder is never touched."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shrinkray_gpu.folder.contents import read_folder
from shrinkray_gpu.folder.copies import FolderCopy
from shrinkray_gpu.folder.tree import FileTree


@pytest.fixture
def copy(tmp_path: Path) -> FolderCopy:
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "logs").mkdir()
    (root / "src" / "a.c").write_text("int a;\n")
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    (root / "data.bin").write_bytes(b"\0data")
    (root / ".gitignore").write_text("build/\n")
    (root / "build").mkdir()
    (root / "build" / "old.o").write_bytes(b"\0")
    (root / "venv").mkdir()
    (root / "venv" / "pyvenv.cfg").write_text("home = /usr\n")
    os.utime(root / "src" / "a.c", (1, 1))
    return FolderCopy(read_folder(root), tmp_path / "own")


def state(place: Path) -> dict[str, tuple[bytes, int]]:
    files = [path for path in place.rglob("*") if path.is_file() and "venv" not in path.parts]
    return {str(path.relative_to(place)): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


def test_what_a_command_changed_is_put_right(copy: FolderCopy) -> None:
    whole = FileTree.of(copy.contents)
    copy.prepare(whole)
    before, original = state(copy.place), state(copy.contents.root)
    assert before == original and (copy.place / "logs").is_dir() and os.access(copy.place / "run.sh", os.X_OK)
    (copy.place / "src" / "a.c").write_text("int b;\n")  # as long as it was
    os.utime(copy.place / "src" / "a.c", (1, 1))
    (copy.place / "data.bin").unlink()
    (copy.place / "build" / "a.o").write_bytes(b"\0")
    (copy.place / "out").mkdir()
    (copy.place / "out" / "b.o").write_bytes(b"\0")
    (copy.place / "out").chmod(0o500)
    (copy.scratch / "left").mkdir()
    copy.prepare(whole)
    assert state(copy.place) == before == state(copy.contents.root)
    assert (
        os.listdir(copy.place / "build") == ["old.o"]
        and not (copy.place / "out").exists()
        and not list(copy.scratch.iterdir())
    )


def test_only_what_differs_is_written(copy: FolderCopy) -> None:
    whole = FileTree.of(copy.contents)
    copy.prepare(whole)
    kept = (copy.place / "run.sh").stat()
    copy.prepare(whole.with_texts({"src/a.c": ""}))
    assert (copy.place / "src" / "a.c").read_text() == ""
    assert (copy.place / "src" / "a.c").stat().st_mtime > 1, "make must see that it is new"
    again = (copy.place / "run.sh").stat()
    assert (again.st_ino, again.st_ctime_ns) == (kept.st_ino, kept.st_ctime_ns)
    copy.prepare(whole.with_texts({"src/a.c": None}))
    assert not (copy.place / "src").exists()


def test_an_environment_is_a_link_and_what_is_carried_goes_as_a_whole(copy: FolderCopy) -> None:
    whole = FileTree.of(copy.contents)
    copy.prepare(whole)
    assert (copy.place / "venv").is_symlink() and (copy.place / "venv" / "pyvenv.cfg").is_file()
    copy.prepare(whole.without(frozenset({"venv", "build"})))
    assert not (copy.place / "venv").exists() and not (copy.place / "build").exists()
    assert (copy.contents.root / "venv" / "pyvenv.cfg").is_file()

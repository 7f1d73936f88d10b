"""Folders that candidates fill: emptied, however deep, and nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shrinkray_gpu.runner.inside.watchers import writes
from shrinkray_gpu.runner.scratch_folder import remove_folder, scratch_folder


def deepened(folder: Path, levels: int) -> int:
    """Make folders in folders; a descriptor of the innermost. Its name is longer than a path may be."""
    inner = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.close(os.open("file", os.O_WRONLY | os.O_CREAT, dir_fd=inner))
        os.mkdir("d" * 200, dir_fd=inner)
        outer, inner = inner, os.open("d" * 200, os.O_RDONLY, dir_fd=inner)
        os.close(outer)
    return inner


def test_a_folder_deeper_than_the_stack_is_removed(tmp_path: Path) -> None:
    with scratch_folder(tmp_path) as folder:
        os.close(deepened(Path(folder), 1500))
        Path(folder, "beside", "that").mkdir(parents=True)
    assert list(tmp_path.iterdir()) == []


def test_no_link_is_followed(tmp_path: Path) -> None:
    (kept := tmp_path / "kept").mkdir()
    (kept / "file").touch()
    with scratch_folder(tmp_path) as folder:
        Path(folder, "link").symlink_to(kept)
        Path(folder, "inner").mkdir()
        Path(folder, "inner", "link").symlink_to(kept)
    (tmp_path / "top").symlink_to(kept)
    remove_folder(tmp_path / "top")
    assert (kept / "file").exists() and {path.name for path in tmp_path.iterdir()} == {"kept", "top"}


def test_what_is_no_folder_stays(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    remove_folder(tmp_path / "file")
    remove_folder(tmp_path / "nothing")
    assert (tmp_path / "file").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may remove anything")
def test_what_may_not_be_removed_stays_without_a_word(tmp_path: Path) -> None:
    (closed := tmp_path / "closed").mkdir()
    (closed / "file").touch()
    closed.chmod(0o500)
    remove_folder(tmp_path)
    closed.chmod(0o700)
    assert (closed / "file").exists()


def test_a_path_that_is_too_long_costs_no_walk_to_the_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The C library opens each folder above for it: a program that made 400 of them ran for minutes."""
    monkeypatch.setattr(writes, "_seen", seen := list[str]())
    before = os.open(".", os.O_RDONLY)
    inner = deepened(tmp_path, 30)
    try:
        os.fchdir(inner)
        monkeypatch.setattr(os, "getcwd", lambda: pytest.fail("asked for the working folder"))
        writes._note("os.mkdir", ("below", 0o777, -1))
        writes._note("os.mkdir", (str(tmp_path / "above"), 0o777, -1))
        os.chdir(tmp_path)
        writes._note("os.mkdir", ("beside", 0o777, -1))
    finally:
        os.fchdir(before)
        os.close(before)
        os.close(inner)
        monkeypatch.undo()
        remove_folder(tmp_path)
    assert seen == [str(tmp_path.resolve() / "above"), str(tmp_path.resolve() / "beside")]

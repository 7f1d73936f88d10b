"""A file is replaced as a whole, whatever lies where its new text is written first."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shrinkray_gpu.runner.plain_file import replace_file


@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", ["nothing", "file", "pipe", "link", "link to nothing"])
def test_what_lies_in_the_way_is_put_aside_and_not_written_through(tmp_path: Path, kind: str) -> None:
    path, new, theirs = tmp_path / "best.py", tmp_path / "best.py.new", tmp_path / "theirs"
    path.write_text("old")
    if kind == "file":
        new.write_text("much longer than the new text")
    elif kind == "pipe":
        os.mkfifo(new)
    elif kind.startswith("link"):
        new.symlink_to(theirs)
        if kind == "link":
            theirs.write_text("theirs")
    replace_file(path, b"text")
    assert path.read_text() == "text" and not path.is_symlink() and not os.path.lexists(new)
    assert theirs.exists() == (kind == "link") and (kind != "link" or theirs.read_text() == "theirs")


def test_a_folder_in_the_way_is_told_and_stays(tmp_path: Path) -> None:
    (tmp_path / "best.py.new").mkdir()
    with pytest.raises(OSError):
        replace_file(tmp_path / "best.py", b"text")
    assert os.listdir(tmp_path) == ["best.py.new"]

"""Which files of a folder are reduced, which are only carried along, and which folders are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.folder.contents import BINARY, ENVIRONMENT, IGNORED, LARGE, LARGEST, LINK, MARK, read_folder


def make(root: Path, **files: str | bytes) -> Path:
    for name, data in files.items():
        path = root / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
    return root


def test_texts_are_reduced_and_the_rest_is_carried(tmp_path: Path) -> None:
    root = make(
        tmp_path,
        a_dot_cu="int x;\n",
        src__b_dot_h="int y;\n",
        data_dot_bin=b"\0\1",
        big_dot_txt="x" * (LARGEST + 1),
        build__a_dot_o=b"\0",
        venv__pyvenv_dot_cfg="home = /usr\n",
    )
    (root / ".gitignore").write_text("build/\n")
    (root / "run.sh").write_text(f"#!/bin/sh\n{MARK}it\n")  # of a result that is reduced further
    (root / "link.h").symlink_to("src/b.h")
    (root / ".git").mkdir()
    (root / "__pycache__").mkdir()
    found = read_folder(root)
    assert set(found.texts) == {"a.cu", "src/b.h", ".gitignore"}
    assert found.carried == {
        "data.bin": BINARY,
        "big.txt": LARGE,
        "build": IGNORED,
        "venv": ENVIRONMENT,
        "link.h": LINK,
    }
    assert found.told.startswith("3 files with 3 lines are reduced; 5 only carried along (")


def test_folders_that_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    out = make(tmp_path / "out", a="x\n")
    (out / "link").symlink_to("/etc/passwd")
    home = make(tmp_path / "home", a="x\n")
    monkeypatch.setenv("HOME", str(home))
    for path, message in (
        (tmp_path / "none", "does not exist"),
        (tmp_path / "file", "is a file"),
        (tmp_path / "empty", "holds nothing"),
        (out, "leads out of the folder, to /etc/passwd"),
        (home, "is your home folder or above it"),
        (Path("/"), "is your home folder or above it"),
    ):
        with pytest.raises(UsageError, match=message):
            read_folder(path)

"""What goes to another host, and what stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrinkray_gpu.cells import shipped_files
from shrinkray_gpu.cells.shipped_files import packed, renamed, unpacked
from shrinkray_gpu.errors import UsageError


def test_a_folder_goes_without_what_tools_leave_there(tmp_path: Path) -> None:
    project, other = tmp_path / "project", tmp_path / "other"
    for name in (
        "pkg/ops.py",
        ".git/config",
        "venv/pyvenv.cfg",
        "venv/lib.py",
        "triage/journal.jsonl",
        "tests/data.bin",
    ):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_bytes(b"\xff" + name.encode())
    other.mkdir()
    there = unpacked(project, packed(project), other)
    assert there.name == "project"
    found = {str(each.relative_to(there)): each.read_bytes() for each in there.rglob("*") if each.is_file()}
    assert found == {name: b"\xff" + name.encode() for name in ("pkg/ops.py", "tests/data.bin")}


def test_a_single_file_keeps_its_name(tmp_path: Path) -> None:
    (tmp_path / "held.json").write_text("{}")
    there = unpacked(tmp_path / "held.json", packed(tmp_path / "held.json"), tmp_path)
    assert there.name == "held.json" and there.read_text() == "{}" and there.parent != tmp_path


def test_a_large_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipped_files, "LARGEST", 1 << 20)
    (tmp_path / "large").write_bytes(bytes(1 + (1 << 20)))
    with pytest.raises(UsageError, match="has more than 1 MiB, which each node would get"):
        packed(tmp_path)


NAMES = {"/data": "/tmp/x", "/data/deep": "/data/y", "/home/me/a+b": "/tmp/z"}


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("/data", "/tmp/x"),
        ("/data/", "/tmp/x/"),
        ("open('/data/a.py')", "open('/tmp/x/a.py')"),
        ("/data/deep/a /data/deeper", "/data/y/a /tmp/x/deeper"),
        ("PATH=/data/bin:/data", "PATH=/tmp/x/bin:/tmp/x"),
        ("in /data, or in /data.", "in /tmp/x, or in /tmp/x."),
        ("file:///data/a", "file:///tmp/x/a"),
        ("-I/data/include", "-I/tmp/x/include"),
        ("nvcc -I/data --x=/data", "nvcc -I/tmp/x --x=/tmp/x"),
        ("print('a\\n/data')\n/data", "print('a\\n/tmp/x')\n/tmp/x"),
        ("/home/me/a+b/c", "/tmp/z/c"),
    ],
)
def test_a_path_and_what_lies_below_it_is_renamed(before: str, now: str) -> None:
    assert renamed(before, NAMES) == now


@pytest.mark.parametrize(
    "text",
    [
        "/dataset", "/data-old/a", "/data.txt", "/data~", "/data_2", "/dat\u00e4", "/data\u00e4",
        "/mnt/data", "./data", "../data/a", "x/data", "{root}/data", "~/data", "https://host/data", "a-I/data",
    ],
)  # fmt: skip
def test_a_part_of_another_name_is_not(text: str) -> None:
    assert renamed(text, NAMES) == text


def test_all_texts_of_a_row_are_renamed() -> None:
    row = {"why": "first\n/data/a", "seen": [("/data", 1, None, True)], "/data": {"dataset": "/dataset"}}
    assert renamed(row, NAMES) == {
        "why": "first\n/tmp/x/a", "seen": [["/tmp/x", 1, None, True]], "/tmp/x": {"dataset": "/dataset"}
    }  # fmt: skip
    assert renamed(row, {}) == row and renamed("a", {"": "b"}) == "a"

"""What goes to another host, and what stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrinkray_gpu.cells import shipped_files
from shrinkray_gpu.cells.shipped_files import packed, unpacked
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

"""The folder of a run: always a fresh one, and sealed by checksums that the usual tool checks."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.questions import run_folder


def test_every_run_has_a_folder_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "runs" / "notes").mkdir(parents=True)
    assert [run_folder.fresh(tmp_path / "runs").name for _ in range(3)] == ["001", "002", "003"]
    (tmp_path / "runs" / "002").rmdir()
    assert run_folder.fresh(tmp_path / "runs").name == "004"  # what is gone may be cited somewhere
    with ThreadPoolExecutor(8) as threads:
        names = list(threads.map(lambda _: run_folder.fresh(tmp_path / "runs").name, range(8)))
    assert len(set(names)) == 8


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="--output"):
        run_folder.fresh(tmp_path / "file" / "runs")


def test_where_the_work_comes_to_nothing_there_is_no_folder(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), run_folder.folder_of(tmp_path / "runs") as folder:
        run_folder.write(folder, "half.txt", "half")
        raise KeyboardInterrupt
    assert not (tmp_path / "runs").exists()
    with run_folder.folder_of(tmp_path / "runs") as folder:
        assert run_folder.fill(folder, lambda: run_folder.write(folder, "whole.txt", "whole")) == ""
    with run_folder.folder_of(tmp_path / "runs") as folder:
        trouble = run_folder.fill(folder, lambda: run_folder.write(folder, ".", "no file"))
    assert trouble.startswith(f"cannot write {folder}: Is a directory. Make room there")
    assert [path.name for path in (tmp_path / "runs").rglob("*")] == ["001", "whole.txt"]


def test_checksums(tmp_path: Path) -> None:
    run_folder.write(tmp_path, "a/code.cubin", b"\0\1")
    run_folder.write(tmp_path, "summary.tsv", "test\tcount\n")
    run_folder.seal(tmp_path)
    check = ["sha256sum", "--check", "--strict", run_folder.SUMS]
    assert subprocess.run(check, cwd=tmp_path, capture_output=True).returncode == 0
    (tmp_path / "summary.tsv").write_text("test\tother\n")
    assert subprocess.run(check, cwd=tmp_path, capture_output=True).returncode == 1


def test_what_a_result_depends_on() -> None:
    variables = {"TRITON_PRINT_AUTOTUNING": "1", "HOME": "/home/me", "SECRET": "x"}
    about = run_folder.environment(sys.executable, {"triton": "3.7.1"}, arch=90, variables=variables)
    assert about["variables"] == {"TRITON_PRINT_AUTOTUNING": "1"}
    assert about["versions"] == {"triton": "3.7.1"} and "sm_90" in about["architecture"]
    assert "release" in about["ptxas"]
    assert json.dumps(about)

"""What the command says where the machine, not the user, is at fault."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from shrinkray_gpu.cli.main import main
from shrinkray_gpu.job import reduce as job
from shrinkray_gpu.reduction.plain_file import replace_file


def test_a_full_disk_is_told_in_one_line_with_what_is_safe_and_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(job, "reduce", full)
    said = CliRunner().invoke(main, [str(tmp_path / "failing.py"), "--quiet"])
    assert said.exit_code == 2
    assert said.output.startswith("shrink: cannot write any more") and said.output.count("\n") == 1
    assert "best.py" in said.output and "--resume" in said.output


def test_a_folder_where_a_file_goes_is_told_with_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "repro_failing.py").mkdir()

    def in_the_way(*_: object, **__: object) -> None:
        replace_file(tmp_path / "repro_failing.py", b"")

    (tmp_path / "failing.py").touch()
    monkeypatch.setattr(job, "reduce", in_the_way)
    said = CliRunner().invoke(main, [str(tmp_path / "failing.py"), "-o", str(tmp_path / "it.py"), "--quiet"])
    assert said.exit_code == 2 and said.output.count("\n") == 1
    assert f"{tmp_path / 'repro_failing.py'})" in said.output and "best.py" in said.output


def test_a_process_of_ours_that_went_away_is_no_end_without_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """click takes it for a reader that had enough, and ends with 1 and nothing said."""

    def gone(*_: object, **__: object) -> None:
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    monkeypatch.setattr(job, "reduce", gone)
    monkeypatch.setattr(sys, "argv", ["shrink", str(tmp_path / "failing.py"), "--quiet"])
    with (tmp_path / "said").open("w") as said, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", said)
        patch.setattr(sys, "stderr", said)
        with pytest.raises(RuntimeError, match="a process of ours went away"):
            main()


def test_a_reader_that_had_enough_ends_it_without_a_word() -> None:
    command = f"{sys.executable} -m shrinkray_gpu --list-passes | head -1 >&2; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert "Traceback" not in done.stderr and done.stdout.strip() in ("0", "1")


@pytest.mark.parametrize("number", [errno.EFBIG, errno.EIO, errno.EDQUOT])
def test_what_else_keeps_a_disk_from_taking_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(job, "reduce", full)
    said = CliRunner().invoke(main, [str(tmp_path / "failing.py"), "--quiet"])
    assert said.exit_code == 2 and os.strerror(number) in said.output and said.output.count("\n") == 1

"""What the command says where the machine, not the user, is at fault."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from shrinkray_gpu.cli import main


def test_a_full_disk_is_told_in_one_line_with_what_is_safe_and_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(main, "reduce", full)
    said = CliRunner().invoke(main.main, [str(tmp_path / "failing.py"), "--quiet"])
    assert said.exit_code == 2
    assert said.output.startswith("shrink: cannot write any more") and said.output.count("\n") == 1
    assert "best.py" in said.output and "--resume" in said.output

"""Scripts whose names are long, or in no encoding, and a locale that knows ASCII only."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.e2e.command import PATIENCE, SHRINK, environment, only

ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.parametrize(
    ("name", "locale"),
    [(b"n" * 250 + b".py", {}), ("ünï.py".encode(), ASCII), (b"caf\xe9.py", {})],
    ids=["250 letters", "C locale", "no UTF-8"],
)
def test_a_script_of_any_name_is_reduced_and_reported(tmp_path: Path, name: bytes, locale: dict[str, str]) -> None:
    (tmp_path / os.fsdecode(name)).write_text("x = 1\nprint([][1])\n")
    words = [*SHRINK, *only("statements"), os.fsdecode(name), "--oracle", "exception:IndexError"]
    done = subprocess.run(words, cwd=tmp_path, env={**environment(), **locale}, capture_output=True, timeout=PATIENCE)
    assert done.returncode == 0 and b"Traceback" not in done.stderr, done.stderr
    [issue] = tmp_path.glob("*.shrink/ISSUE.md")
    shown = name.decode("utf-8", "replace").removesuffix(".py")[:160]
    assert f"Save as `repro_{shown}" in issue.read_text(encoding="utf-8")
    assert issue.with_name("report.html").is_file()
    [repro] = tmp_path.glob("repro_*.py")
    assert repro.read_text(encoding="utf-8") == "print([][1])\n"

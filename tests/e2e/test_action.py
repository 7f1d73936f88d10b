""".ci/action.sh, the steps of action.yml: a corpus is replayed, a failing test is reduced. `comment` is not run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEST = """\
import pytest


def scale(rows):
    unused = [row for row in range(3)]
    return 100 // len(rows)


def test_scale():
    assert scale([1]) == 100
    assert scale([]) == 0


def test_fine():
    assert scale([1, 2]) == 50
"""


def ran(step: str, folder: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    shrink = folder / "shrink"
    shrink.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m shrinkray_gpu "$@"\n')
    shrink.chmod(0o755)
    (folder / "out").mkdir(exist_ok=True)
    ours = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    given = {"SHRINK": str(shrink), "OUT": str(folder / "out"), "ARCH": "sm_90", "MAX_TIME": "60", **settings}
    command = ["bash", str(ROOT / ".ci" / "action.sh"), step]
    return subprocess.run(
        command, cwd=folder, env={**os.environ, **ours, **given}, text=True, stdout=-1, stderr=-2, timeout=300
    )


@pytest.mark.slow
def test_a_corpus_is_replayed(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "corpus" / "constexpr_return", tmp_path / "corpus" / "constexpr_return")
    ended = ran("replay", tmp_path, CORPUS="corpus")
    assert ended.returncode == 0, ended.stdout
    assert "constexpr_return" in (tmp_path / "out" / "corpus.xml").read_text()
    assert (tmp_path / "out" / "corpus.html").exists()


@pytest.mark.slow
def test_a_failing_test_is_reduced_and_told(tmp_path: Path) -> None:
    (tmp_path / "test_scale.py").write_text(TEST)
    ended = ran("reduce", tmp_path, TEST="test_scale.py::test_scale", ORACLE="ZeroDivisionError", ARCH="")
    assert ended.returncode == 0, ended.stdout
    repro = (tmp_path / "out" / "repro.py").read_text()
    assert "unused" not in repro and "test_fine" not in repro
    told = (tmp_path / "out" / "comment.md").read_text()
    assert told.startswith("The failing test `test_scale.py::test_scale`, reduced:\n\n    ")
    assert told.endswith("".join(f"    {line}\n" for line in repro.splitlines()))


def test_each_input_is_used_and_described() -> None:
    action = (ROOT / "action.yml").read_text()
    inputs = re.findall(r"^  ([\w-]+):$", action.partition("inputs:")[2].partition("\nruns:")[0], re.M)
    assert inputs and all(f"inputs.{name}" in action for name in inputs)
    page = (ROOT / "docs" / "how_to_ci.md").read_text()
    assert re.findall(r"^\| `([\w-]+)` \|", page, re.M) == inputs
    assert "${{ inputs" not in "".join(re.findall(r"^ +run:.*(?:\n {8,}.*)*", action, re.M)), "a shell would run it"

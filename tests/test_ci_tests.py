"""`.ci/tests.py`, which `make test` runs: a failure counts where the test fails alone, too."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / ".ci/tests.py"
FLAKE = """
import pathlib, pytest
@pytest.mark.xdist_group("a group")
@pytest.mark.parametrize("word", ["a@b"])
def test_once(word):
    seen = pathlib.Path("seen")
    if not seen.exists():
        seen.touch()
        assert False
def test_steady(): pass
"""


def run(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_it.py").write_text(text)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n    gpu\n")
    return subprocess.run([sys.executable, SCRIPT], cwd=folder, capture_output=True, text=True)


def test_what_fails_only_beside_others_passes_and_is_named(tmp_path: Path) -> None:
    pytest.importorskip("xdist")
    done = run(tmp_path, FLAKE)
    assert done.returncode == 0
    last = done.stdout.splitlines()[-1]
    assert last.startswith("UNSTEADY, to be mended:") and last.endswith(": test_it.py::test_once[a@b]")


def test_what_fails_alone_fails(tmp_path: Path) -> None:
    pytest.importorskip("xdist")
    done = run(tmp_path, "def test_it(): assert False\n" + FLAKE)
    assert done.returncode == 1
    assert "UNSTEADY" not in done.stdout


def test_many_failures_are_no_accident(tmp_path: Path) -> None:
    pytest.importorskip("xdist")
    done = run(tmp_path, "\n".join(f"def test_{n}(): assert False" for n in range(6)))
    assert done.returncode == 1
    assert "alone" not in done.stdout

"""What is told at the end can be typed as it stands, and what matters most comes first."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from shrinkray_gpu.cli.summary import as_called, rows_of
from shrinkray_gpu.result.summary import Result

RESULT = Result(
    Path("repro.py"), "x\n", "misaligned address", (202, 2481), (11, 130), {"lane": 7}, {"start": 1, "search": 2,
    "check": 3, "gpu": 0}, "virtual", 1, 1, "done", "shrink repro.py --check",
    verdict={"verdict": "compiler", "upstream": "nobody's"}, fault="device fault", same="same fault: by its cause",
    attachment="x.shrink/ISSUE.md", lifted="lifted: launch 7",
)  # fmt: skip


def test_a_command_of_ours_is_told_as_it_was_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The demo's environment is not active: `shrink` alone would not be found."""
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    called = tmp_path / ".venv" / "bin" / "shrink"
    called.write_text("")
    called.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(sys, "argv", [str(called)])
    assert as_called("shrink repro.py --check") == ".venv/bin/shrink repro.py --check"
    assert as_called("python repro.py") == "python repro.py"
    monkeypatch.setattr(sys, "argv", ["/x/shrinkray_gpu/__main__.py"])
    assert as_called("shrink repro.py").endswith(" -m shrinkray_gpu repro.py")
    monkeypatch.setenv("PATH", str(called.parent))
    assert as_called("shrink repro.py --check") == "shrink repro.py --check"


def test_the_verdict_comes_first_and_where_things_are_last() -> None:
    labels = [label for label, _ in rows_of(RESULT)]
    assert labels[:4] == ["verdict", "upstream", "fault", "same fault"]
    assert labels[-3:] == ["saved", "to attach", "shows the fault"]

"""The hook for production on a device: one of a thousand launches faults, and its capsule is reduced elsewhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.capture import programs
from tests.e2e.command import SHRINK, environment

pytestmark = pytest.mark.gpu
ROOT = Path(__file__).parents[2]


def captured(folder: Path, program: str = programs.WAITS, **variables: str) -> Path:
    """The capsule that the program leaves."""
    (folder / "program.py").write_text(program)
    before = set(folder.glob("capsule_*.json"))
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-m", "shrinkray_gpu.capture", "program.py"],
        cwd=folder,
        env={**environment(), "PYTHONPATH": path, **variables},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode != 0 and "misaligned address" in done.stderr, done.stderr
    [made] = set(folder.glob("capsule_*.json")) - before
    return made


@pytest.mark.parametrize("where", [(), ("--arch", "sm_90")], ids=["on this GPU", "without one"])
def test_a_capsule_of_a_device_is_reduced_without_its_program(tmp_path: Path, where: tuple[str, ...]) -> None:
    here, away = tmp_path / "production", tmp_path / "away"
    here.mkdir(), away.mkdir()
    (away / "capsule.json").write_text(captured(here).read_text())
    words = ["capsule", "capsule.json", *where, "--no-report", "--max-time", "60"]
    told = subprocess.run([*SHRINK, *words], cwd=away, env=environment(), capture_output=True, text=True, timeout=500)
    assert told.returncode == 0, told.stderr
    assert "jagged" in (away / "repro_capsule_launch903.py").read_text()


def test_a_second_run_says_which_launch_it_was(tmp_path: Path) -> None:
    first = captured(tmp_path)
    made = json.loads(
        captured(tmp_path, programs.WAITS, SHRINKRAY_GPU="record", SHRINKRAY_GPU_CAPSULE=first.name).read_text()
    )
    assert made["exact"] and (made["launches"][0]["number"], made["launches"][0]["record"]["kernel"]) == (903, "jagged")


def test_a_launch_of_torch_compile_is_captured_and_reduced(tmp_path: Path) -> None:
    """By Inductor's static launcher, which knows no kernel, where torch has it."""
    path = captured(tmp_path, programs.COMPILED)
    odd = [
        launch["number"]
        for launch in json.loads(path.read_text())["launches"]
        if launch["record"]["kernel"] == "jagged"
        and any(a["name"] == "shift" and a["text"] == "3" for a in launch["record"]["arguments"])
    ]
    assert len(odd) == 1
    words = ["capsule", path.name, "--launch", str(odd[0]), "--no-report", "--max-time", "60"]
    told = subprocess.run(
        [*SHRINK, *words], cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=500
    )
    assert told.returncode == 0, told.stderr
    assert "def jagged(" in (tmp_path / f"repro_{path.stem}_launch{odd[0]}.py").read_text()

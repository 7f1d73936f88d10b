"""The study of TMA emission where its kernels really run: the same counts as compiled for sm_90 without a GPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.gpu

ROOT = Path(__file__).parents[2]
STUDY = ROOT / "studies" / "tma_emission"
OLD = "Block pointers have been removed"
"""What Triton says of the study's programs from 3.9 on."""


def ir(folder: Path, *words: str | Path) -> tuple[int, dict[str, Any]]:
    """The exit code, and the study; the tables go to $OUT too."""
    command = [sys.executable, "-m", "shrinkray_gpu", "ir", *map(str, words), "--jobs", "4", "-o", str(folder)]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)
    print(done.stdout, done.stderr[-2000:])
    [place] = folder.iterdir()
    summary: dict[str, Any] = json.loads((place / "summary.json").read_text())
    if out := os.environ.get("OUT"):
        for name in ("summary.tsv", "summary.md"):
            (Path(out) / f"{folder.name}_{name}").write_text((place / name).read_text())
    [study] = summary["studies"]
    for test in study["tests"]:
        [run] = place.glob(f"triton-*/*-{test['test']}/run.json")
        if OLD not in test["why"]:  # each of these programs checks its own result
            assert json.loads(run.read_text())["exit"] == 0, (run.parent / "output.txt").read_text()
    return done.returncode, study


def totals(study: dict[str, Any]) -> dict[str, list[int]]:
    """For each test the counts of all stages, of its one kernel."""
    return {
        test["test"]: [n for kernel in test["kernels"].values() for n in kernel.values()] for test in study["tests"]
    }


def test_block_pointers_and_descriptors(tmp_path: Path) -> None:
    code, study = ir(
        tmp_path / "ir_block_pointer", STUDY / "block_pointer.py", "--count", "tma", "--known", STUDY / "descriptor.py",
        "--bad", "INNER_STRIDE=2", "--stress", STUDY / "block_pointer_stress.py",
    )  # fmt: skip
    none = [] if any(OLD in test["why"] for test in study["tests"]) else [0] * 5
    assert code == 1
    assert totals(study) == {"known": [2] * 5, "good": none, "bad": none, "stress": none}
    code, study = ir(
        tmp_path / "ir_descriptor", STUDY / "descriptor.py", "--count", "tma", "--bad", STUDY / "pointer.py",
        "--stress", STUDY / "descriptor_stress.py",
    )  # fmt: skip
    assert code == 0
    assert totals(study) == {"good": [2] * 5, "bad": [0] * 5, "stress": [2] * 5}

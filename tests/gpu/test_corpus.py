"""The main job on a real GPU: the corpus case becomes a dozen lines that fault whenever a user runs them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from shrinkray_gpu.events import printed_result
from tests.gpu.lifting.cases import imports

pytestmark = pytest.mark.gpu

ROOT = Path(__file__).parents[2]
CASE = ROOT / "corpus" / "tma_misaligned" / "failing.py"


def shrink(*words: str) -> dict:  # type: ignore[type-arg]
    command = [sys.executable, "-m", "shrinkray_gpu", *words, "--json", "--no-report"]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    return printed_result(done.stdout)


def test_the_corpus_case_becomes_a_dozen_lines(tmp_path: Path) -> None:
    repro = tmp_path / "repro_tma_misaligned.py"
    result = shrink(str(CASE), "--oracle", "misaligned address", "-o", str(repro), "--final-runs", "10")
    if out := os.environ.get("OUT"):
        (Path(out) / "repro_tma_misaligned.py").write_text(result["text"])
        (Path(out) / "result.json").write_text(json.dumps(result, indent=1))
    print(json.dumps({key: value for key, value in result.items() if key != "text"}))
    print(result["text"])
    assert result["after"][0] <= 16
    assert (result["verified"], result["final_runs"]) == (10, 10)
    assert imports(result["text"]) <= {"torch", "triton"}
    plain = subprocess.run([sys.executable, str(repro)], capture_output=True, text=True, cwd=tmp_path)
    assert plain.returncode != 0 and "misaligned address" in plain.stderr

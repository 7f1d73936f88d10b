"""The attachment on a GPU: ISSUE.md names, without hand work, what an expert would write into it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from shrinkray_gpu.device import sanitizer_records
from tests.e2e.command import environment, shrink

pytestmark = [pytest.mark.gpu, pytest.mark.slow]

CASE = Path(__file__).parents[2] / "corpus" / "tma_misaligned" / "repro_tma_misaligned.py"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a reduction of the corpus case's repro, which is small: what counts here comes after it."""
    if sanitizer_records.find(sys.executable, environment()) is None:
        pytest.skip("needs compute-sanitizer")
    place = tmp_path_factory.mktemp("attachment")
    shutil.copy(CASE, place / "tma.py")
    words = ("tma.py", "--oracle", "misaligned address", "--max-time", "5", "--gpu-price", "3")
    said = shrink(*words, cwd=place, report=True)
    print(said.out, said.err)
    assert said.code == 0, said.err
    made = place / "tma.shrink"
    if out := os.environ.get("OUT"):
        unwanted = shutil.ignore_patterns("cache", "scratch")
        # Each worker of pytest-xdist makes one.
        shutil.copytree(made, Path(out) / "tma.shrink", dirs_exist_ok=True, ignore=unwanted)
    return made


@pytest.fixture(scope="module")
def issue(folder: Path) -> str:
    text = (folder / "ISSUE.md").read_text()
    print(text)
    return text


def test_the_symptom_and_the_sanitizer_s_record(issue: str) -> None:
    assert "`misaligned address` (CUDA error 716)" in issue
    assert re.search(r"Error.*misaligned address", issue), "to the letter"
    record = re.search(r"^Misaligned shared or local address\n.*?\bat kernel\+0x([0-9a-f]+)", issue, re.M | re.S)
    assert record is not None
    assert f"`kernel+0x{record.group(1)}`" in issue


def test_the_instruction_at_that_offset(issue: str) -> None:
    at = re.search(r"^\| instruction \| `[^`]*UTMALDG[^`]*` at `kernel\+0x([0-9a-f]+)`", issue, re.M)
    said = re.search(r"^\| sanitizer \| Misaligned shared or local address at `kernel\+0x([0-9a-f]+)`", issue, re.M)
    assert at is not None and said is not None and at.group(1) == said.group(1)
    assert re.search(rf"^>> /\*0*{at.group(1)}\*/ .*UTMALDG", issue, re.M), "marked among its neighbours"
    assert "destination in shared memory" in issue and "ttng.async_tma_copy_global_to_local" in issue


def test_the_destination_s_alignment(issue: str) -> None:
    assert "16 modulo 128" in issue and "must be a multiple of 128 bytes" in issue
    assert re.search(r"alignment of shared memory as declared \| 16 bytes", issue)


def test_the_controls_and_the_workaround_that_follows(issue: str, folder: Path) -> None:
    rows = [line.split("\t") for line in (folder / "artifacts" / "experiments.tsv").read_text().splitlines()]
    outcome = {(row[0].partition(" (")[0], row[1]): row[2] for row in rows}
    assert outcome["num_stages of tl.range", "1"] == "passes"
    assert outcome["num_stages of tl.range", "4"] == "faults"
    assert outcome["tile extent 4", "32"] == "passes"
    assert outcome["tile extent 4", "16"] == "faults"
    assert "`num_stages` of at most 2" in issue
    assert re.search(r"a tile extent of 32 \((1x)?32: 128 bytes\)", issue), "TTGIR may drop the dimension of 1"
    assert "Nearest passing variant, confirmed in a process of its own: it does not fault" in issue


def test_the_environment_and_the_price(issue: str, folder: Path) -> None:
    told = json.loads((folder / "artifacts" / "env.json").read_text())
    assert {"gpu", "driver", "cuda", "torch", "triton", "ptxas", "python"} <= set(told)
    assert re.search(r"cost: \d+\.\d\d, one GPU held for", issue)


def test_a_reader_pastes_the_repro_and_two_of_its_controls(issue: str, tmp_path: Path) -> None:
    found = re.search(r"```python\n(.*?)```", issue, re.S)
    assert found is not None
    (tmp_path / "repro_tma.py").write_text(found.group(1))
    commands = [line for line in issue.splitlines() if line.startswith(("sed ", "python repro_tma.py"))]
    faults = next(line for line in commands if line.startswith("python"))
    passes = next(line for line in commands if line.endswith("# passes"))
    for command, expected in ((faults, False), (passes, True)):
        home = Path(sys.executable).parent
        variables = {**environment(), "PATH": f"{home}{os.pathsep}{os.environ['PATH']}"}
        done = subprocess.run(["bash", "-c", command], cwd=tmp_path, env=variables, capture_output=True, text=True)
        assert (done.returncode == 0) is expected, done.stderr[-2000:]
        assert ("misaligned address" in done.stderr) is not expected

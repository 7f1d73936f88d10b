"""`shrink ir` on the virtual GPU: the three-phase study of TMA emission, what decides, and bad commands."""

from __future__ import annotations

import csv
import json
import subprocess
from pathlib import Path

import pytest

from tests.e2e.command import shrink

ROOT = Path(__file__).parents[2]
STUDY = ROOT / "studies" / "tma_emission"
HERE = ("--arch", "sm_90")


def test_block_pointers_make_no_tma_and_the_zero_is_a_true_one(tmp_path: Path) -> None:
    said = shrink(
        "ir", STUDY / "block_pointer.py", *HERE, "--count", "ttgir:async_tma_copy", "--count", "sass:UTMALDG",
        "--known", str(STUDY / "descriptor.py"), "--bad", "INNER_STRIDE=2",
        "--stress", str(STUDY / "block_pointer_stress.py"), "--over", "NUM_STAGES=1", "-o", "out", cwd=tmp_path,
    )  # fmt: skip
    assert said.code == 1, said.err
    assert "no: none in good 0/0, and the patterns fit: known 2/1" in said.out
    assert "NUM_STAGES no value brings it about (1: 0/0)" in said.out
    folder = tmp_path / "out" / "001"
    rows = list(csv.DictReader(open(folder / "summary.tsv"), delimiter="\t"))
    assert [(row["test"], row["kernel"], row["ttgir:async_tma_copy"], row["result"]) for row in rows[:4]] == [
        ("known", "copy", "2", "present"),
        ("good", "copy", "0", "absent"),
        ("bad", "copy", "0", "inconclusive"),
        ("stress", "stress", "0", "inconclusive"),
    ]
    assert rows[2]["why"] == "the positive control failed"
    check = subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=folder, capture_output=True)
    assert check.returncode == 0
    [place] = folder.glob("triton-*")
    assert "ptxas" in json.loads((place / "env.json").read_text())
    assert "async_tma_copy_global_to_local" in (place / "01-known" / "copy.ttgir").read_text()
    assert (place / "02-good" / "copy.cubin").read_bytes().startswith(b"\x7fELF")
    assert "INNER_STRIDE = 2" in (place / "03-bad" / "block_pointer.py").read_text()


def test_all_controls_hold_for_descriptors(tmp_path: Path) -> None:
    said = shrink(
        "ir", STUDY / "descriptor.py", *HERE, "--bad", str(STUDY / "pointer.py"),
        "--stress", str(STUDY / "descriptor_stress.py"), "--count", "tma", "--json", "-o", "out", cwd=tmp_path,
    )  # fmt: skip
    assert said.code == 0, said.err
    [study] = json.loads(said.out)["studies"]
    assert study["conclusion"].endswith("yes: good 2/2/2/2/2, stress 2/2/2/2/2; none in bad 0/0/0/0/0")


def test_which_of_the_values_decides(tmp_path: Path) -> None:
    said = shrink(
        "ir", ROOT / "studies" / "matmul.py", *HERE, "--count", "wgmma", "--over", "num_warps=2", "--over",
        "DTYPE=torch.bfloat16", "-o", "out", cwd=tmp_path,
    )  # fmt: skip
    assert said.code == 0, said.err
    assert "num_warps decides (2: 0/0/0)" in said.out
    assert "DTYPE does not decide (torch.bfloat16: 1/4/4)" in said.out


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("import nowhere\n", "the module nowhere"),
        ("", "good (program.py) ends well and compiles no kernel"),
        ("raise ValueError('early')\n", "nothing to count in: of good (program.py), python fault: ValueError: early"),
    ],
    ids=["missing module", "empty", "early end"],
)
def test_a_program_in_which_nothing_is_compiled_is_a_usage_error(tmp_path: Path, program: str, message: str) -> None:
    (tmp_path / "program.py").write_text(program)
    found = shrink("ir", "program.py", *HERE, "--count", "tma", cwd=tmp_path)
    assert found.code == 2 and message in found.message, found.err
    assert "\n" not in found.message
    assert [path.name for path in tmp_path.iterdir()] == ["program.py"]

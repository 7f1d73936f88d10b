"""`shrink sweep` on the virtual GPU: the boundary of a fault, one that comes and goes, and bad commands."""

from __future__ import annotations

import csv
import json
import xml.etree.ElementTree as xml
from pathlib import Path

from tests.e2e.command import shrink

ROOT = Path(__file__).parents[2]
HERE = ("--arch", "sm_90")

TURNS = """\
import os
import sys

import torch
import triton
import triton.language as tl

BLOCK = 64


@triton.jit
def fill(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), 1.0)


fill[(1,)](torch.zeros(BLOCK, device="cuda"), BLOCK)
torch.cuda.synchronize()
if "--luck" in sys.argv and os.urandom(1) < b"\\x80":
    {}["bad luck"]
"""
"""With `--luck` it fails in half of its runs; the kernel does not compile for a BLOCK that is no power of two."""


def test_the_boundary_of_a_static_fault(tmp_path: Path) -> None:
    repro = ROOT / "corpus" / "tma_misaligned" / "failing.py"
    said = shrink(
        "sweep", repro, *HERE, "--oracle", "misaligned address", "--over", "block_vocab=4,32", "--over",
        "num_stages=2,3", "-o", "out", cwd=tmp_path,
    )  # fmt: skip
    assert said.code == 0, said.err
    rows = list(csv.DictReader(open(tmp_path / "out" / "001" / "matrix.csv")))
    assert [(row["block_vocab"], row["num_stages"], row["kind"]) for row in rows] == [
        ("4", "2", "passes"),
        ("4", "3", "faults"),
        ("32", "2", "passes"),
        ("32", "3", "passes"),
    ]
    assert "changed num_stages: lines 29, 30, 31" in said.out


def test_a_fault_that_comes_and_goes_beside_one_that_stays(tmp_path: Path) -> None:
    """In 20 runs luck is always good, or always bad, once in half a million times."""
    (tmp_path / "turns.py").write_text(TURNS)
    said = shrink(
        "sweep", "turns.py", *HERE, "--over", "BLOCK=64,80", "--runs", "20", "--json", "--", "--luck", cwd=tmp_path
    )
    assert said.code == 0, said.err
    found = json.loads(said.out)
    kinds = [(cell["settings"]["BLOCK"], cell["kind"], cell["runs"]) for cell in found["cells"]]
    assert kinds == [("64", "intermittent", 20), ("80", "consistent", 20)]
    assert "power of 2" in next(iter(found["cells"][1]["seen"]))
    folder = tmp_path / "turns.sweep" / "001"
    assert xml.parse(folder / "matrix.svg").getroot().tag.endswith("svg")
    assert {path.name for path in folder.iterdir()} == {
        *("command.txt", "env.json", "matrix.csv", "matrix.json", "matrix.md", "matrix.svg", "turns.py", "SHA256SUMS")
    }


def test_what_cannot_run_here_is_unknown_and_no_fault(tmp_path: Path) -> None:
    text = 'BACKEND = "json"\n__import__(BACKEND)\nif BACKEND == "wave":\n    {}["gone"]\n'
    (tmp_path / "program.py").write_text(text)
    said = shrink("sweep", "program.py", *HERE, "--over", "BACKEND=json,wave,nowhere", "--json", cwd=tmp_path)
    assert said.code == 0, said.err
    cells = json.loads(said.out)["cells"]
    assert [cell["kind"] for cell in cells] == ["passes", "faults", "unknown"]
    assert "the module nowhere" in cells[2]["doubt"]
    none = shrink("sweep", "program.py", *HERE, "--over", "BACKEND=nowhere", "-o", "out", cwd=tmp_path)
    assert none.code == 2 and "the module nowhere" in none.message
    assert not (tmp_path / "out").exists()

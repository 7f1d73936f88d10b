"""The runner of the programs made to lose their bug: each program has its card, and a result is judged by its fix."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import slipping
import still_happens

from shrinkray_gpu.same_fault.patch import patches

PROGRAMS = slipping.programs()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.name)
def test_each_program_has_a_fix_that_fits(program: slipping.Program) -> None:
    source = program.path.read_text()
    assert patches.read(program.fix, source, program.path.name).patched != source


def test_no_program_is_left_out() -> None:
    here = {path for pattern in ("*.py", "*/*.py") for path in slipping.FOLDER.glob(pattern)}
    assert {program.path for program in PROGRAMS} == {path for path in here if path.parent.name != "by_hand"}


@pytest.mark.parametrize(
    ("code", "error", "whole", "verdict"),
    [
        (3, "shrink: the program: The program ended well (exit 0) after 1.0 s.", True, "true"),
        (3, "shrink: the program ends without a fault in each of 2 runs, and no --oracle", False, "true"),
        (0, "", True, "slipped"),
        (0, "", False, "undecided"),
        (3, "shrink: the program showed another fault after 1.0 s: NameError", True, "undecided"),
        (None, "", True, "undecided"),
    ],
)
def test_the_verdict_is_what_the_fixed_result_shows(code: int | None, error: str, whole: bool, verdict: str) -> None:
    assert slipping.with_fix(code, "", error, whole, "its line is gone")[0] == verdict


PROGRAM = """\
import triton
import triton.language as tl

SIZES = {"wide": 48, "narrow": 32}


@triton.jit
def kernel(SIZE: tl.constexpr):
    tl.static_print(tl.arange(0, SIZE))


def main(name="wide"):
    size = SIZES[name]
    print("launching", size)
    kernel[(1,)](SIZE=size)


main()
"""
FIX = """\
--- a/narrow.py
+++ b/narrow.py
@@ -4,1 +4,1 @@
-SIZES = {"wide": 48, "narrow": 32}
+SIZES = {"wide": 64, "narrow": 32}
"""


@pytest.mark.timeout(300)
def test_programs_of_a_folder_are_reduced_and_judged_and_not_again(tmp_path: Path) -> None:
    card = (
        '[own]\nnarrow = { arch = "sm_90", oracle = "power of 2" }\nfine = { arch = "sm_90", oracle = "power of 3" }\n'
    )
    (tmp_path / "own" / "fixes").mkdir(parents=True)
    (tmp_path / "programs.toml").write_text(card)
    for name in ("narrow", "fine"):
        (tmp_path / "own" / f"{name}.py").write_text(PROGRAM)
        (tmp_path / "own" / "fixes" / f"{name}.diff").write_text(FIX)
    out = tmp_path / "out"
    command = [sys.executable, slipping.__file__, "--folder", tmp_path, "--out", out, "--max-time", "15"]
    first = subprocess.run(command, capture_output=True, text=True)
    rows = {row["name"]: row for row in map(json.loads, (out / "rows.jsonl").read_text().splitlines())}
    assert rows["narrow"]["verdict"] == "true" and rows["narrow"]["after"][0] < rows["narrow"]["before"][0], rows
    assert rows["fine"]["verdict"] == "refused" and "power of 2" in (out / "own" / "fine" / "said.txt").read_text()
    assert "Of 2: 1 true, 0 slipped, 0 undecided, 1 refused, 0 not reduced." in first.stdout
    again = subprocess.run(command, capture_output=True, text=True)
    assert again.stdout.splitlines()[-1] == first.stdout.splitlines()[-1]
    assert len((out / "rows.jsonl").read_text().splitlines()) == 2


SHARE = """\
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, count):
    at = tl.arange(0, 16)
    tl.store(x + at, 1.0, mask=at < count)


kernel[(1,)](torch.zeros(8, device="cuda"), 16)
torch.cuda.synchronize()
"""


def test_a_fix_with_which_nothing_is_accessed_any_more_is_no_repair() -> None:
    assert still_happens.what_is_lost(SHARE, SHARE.replace('"), 16)', '"), 8)')) == ""
    assert still_happens.what_is_lost(SHARE, SHARE.replace('"), 16)', '"), 0)')) == (
        "0 accesses of kernel touch memory instead of 1"
    )
    assert still_happens.what_is_lost(SHARE, SHARE.replace("(1,)", "(0,)")) == "kernel is launched no more"


def test_what_the_compiler_refused_is_compiled_with_the_fix() -> None:
    refused = PROGRAM.replace("\nmain()", "\nmain() if True else None")
    assert still_happens.what_is_lost(refused, refused.replace("48", "64")) == ""
    assert still_happens.what_is_lost(refused, refused.replace("True", "False")) == "kernel is compiled no more"

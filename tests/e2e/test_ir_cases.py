"""`shrink crash.ttir` and `shrink replay repro.mlir` as their users call them."""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from shrinkray_gpu.events import printed_result
from tests.e2e.command import refused, shrink
from tests.intermediate.programs import LOOP, SELECT

pytest.importorskip("triton")
WORDS = "expected both true and false operands to be the same size"


@pytest.fixture
def crash(tmp_path: Path) -> Path:
    (tmp_path / "crash.ttir").write_text(SELECT)
    (tmp_path / "healthy.ttir").write_text(LOOP)
    return tmp_path


def test_a_crash_becomes_a_lit_test_that_replays(crash: Path) -> None:
    said = shrink("crash.ttir", "--arch", "gfx942", "--oracle", WORDS, "-o", "repro.mlir", cwd=crash, report=True)
    assert said.code == 0, said.err
    assert "from 5 operations to 1" in said.out
    repro = (crash / "repro.mlir").read_text()
    assert repro.startswith("// RUN: triton-opt %s -tritonamdgpu-canonicalize-pointers | FileCheck %s\n// Fault: ")
    assert "  // CHECK-LABEL: @s(\n  tt.func @s(" in repro
    assert "not run with triton-opt" in repro and "arith.select" in repro and "tt.load" not in repro
    again = shrink("replay", "repro.mlir", cwd=crash)
    assert again.code == 0 and "still faults: tritonamdgpu-canonicalize-pointers" in again.out
    (crash / "repro.mlir").write_text(repro.replace("arith.select", "arith.choose"))
    changed = shrink("replay", "repro.mlir", "--json", cwd=crash)
    assert changed.code == 1 and json.loads(changed.out)[0]["outcome"] == "format changed"


def test_json_and_check(crash: Path) -> None:
    said = shrink("crash.ttir", "--arch", "gfx942", "--json", cwd=crash, report=True)
    told = printed_result(said.out)
    assert told["ended"] == "done" and told["text"] == (crash / "repro_crash.mlir").read_text()
    assert told["operations"] == [5, 1] and told["pass"] == "tritonamdgpu-canonicalize-pointers"
    assert Path(told["output"]) == crash / "repro_crash.mlir" and Path(told["output"]).is_file()
    (crash / "pyproject.toml").write_text("[tool.shrink]\njobs = 1\narch = 'gfx942'\n")
    only = shrink("check", "crash.ttir", cwd=crash, report=True)
    assert only.code == 0 and "shows tritonamdgpu-canonicalize-pointers" in only.out


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("healthy.ttir", "--arch", "gfx942"), 3, "without a fault"),
        (("crash.ttir", "--arch", "sm_90"), 3, "without a fault"),
        (("crash.ttir", "--arch", "gfx942", "--oracle", "out of memory"), 3, "fails otherwise"),
        (("crash.ttir",), 2, "names no passes"),
        (("crash.ttir", "--arch", "gfx9"), 2, "or gfx942; did you mean gfx9"),
        (("crash.ttir", "--pass", "no-such-pass"), 2, "has no pass no-such-pass"),
        (("gone.ttir", "--arch", "gfx942"), 2, "cannot read gone.ttir"),
        (("crash.ttir", "--arch", "gfx942", "--control", "num_stages=1"), 2, "--control is for programs"),
        (("crash.ttir", "--arch", "gfx942", "--oracle", "exit:1"), 2, "only the compiler's words"),
        (("crash.ttir", "--arch", "gfx942", "stages"), 2, "options of the compiler only"),
        (("crash.ttir", "--arch", "gfx942", "num_warps=3"), 2, "refuses the options of the compiler: AssertionError"),
        (("crash.ttir", "--arch", "gfx942", "stages=3"), 2, "HIPOptions has no stages"),
        (("explain", "crash.ttir"), 2, "shrink replay FILE asks other releases"),
        (("crash.ttir", "--arch", "gfx942", "--oracle", "compile:(a+)+$"), 3, "nothing matches"),
        (("crash.ttir", "--arch", "gfx942", "-o", "no/such/place.mlir"), 2, "no folder that can be written"),
        (("crash.ttir", "--arch", "gfx942", "-o", "crash.ttir"), 2, "is FILE itself"),
        (("replay", "crash.ttir"), 2, "no RUN: line"),
    ],
)
def test_bad_input_is_one_line(crash: Path, words: tuple[str, ...], code: int, message: str) -> None:
    said = refused(*words, cwd=crash)
    assert said.code == code and message in said.message, said.err
    assert "\n" not in said.message
    assert sorted(path.name for path in crash.iterdir()) == ["crash.ttir", "healthy.ttir"]


def test_a_result_that_its_run_line_does_not_show_is_written_and_told(crash: Path) -> None:
    said = refused("crash.ttir", "--pass", 'convert-triton-amdgpu-to-llvm=arch=no"such', cwd=crash)
    assert said.code == 4 and "repro_crash.mlir is written, but does not show" in said.message, said.err
    assert (crash / "repro_crash.mlir").read_text().startswith("// RUN: triton-opt %s -convert")


def test_an_oracle_of_the_project_is_for_programs(crash: Path) -> None:
    (crash / "pyproject.toml").write_text("[tool.shrink]\noracle = 'exit:1'\n")
    said = shrink("crash.ttir", "--arch", "gfx942", cwd=crash)
    assert said.code == 0 and said.err.count("the oracle of [tool.shrink] is for programs") == 1, said.err


@pytest.mark.parametrize(
    "words",
    [
        ("--bisect", "a"),
        ("--case", "a"),
        ("--runs", "3"),
        ("--junit", "a.xml"),
        ("--html", "a"),
        ("--sandbox", "bwrap"),
    ],
)
def test_a_replay_takes_what_it_does(crash: Path, words: tuple[str, str]) -> None:
    (crash / "repro.mlir").write_text(f"// RUN: triton-opt %s -cse\n{LOOP}")
    said = refused("replay", "repro.mlir", *words, cwd=crash)
    assert said.code == 2 and f"{words[0]} is for corpora, and repro.mlir is IR: leave it out" in said.message


def test_a_replay_takes_no_offence_at_the_project(crash: Path) -> None:
    (crash / "repro.mlir").write_text(f"// RUN: triton-opt %s -cse\n{LOOP}")
    (crash / "pyproject.toml").write_text("[tool.shrink]\nsandbox = 'bwrap'\njobs = 2\n")
    said = shrink("replay", "repro.mlir", cwd=crash)
    assert said.code == 1 and "fixed" in said.out, said.err


def test_a_replay_with_a_release_of_triton(crash: Path) -> None:
    (crash / "repro.mlir").write_text(f"// RUN: triton-opt %s -cse\n{LOOP}")
    own = version("triton")
    said = shrink("replay", "repro.mlir", "--triton", own, cwd=crash)
    assert said.code == 1 and f"Triton {own}: fixed" in said.out
    two = refused("replay", "repro.mlir", "--triton", own, "--python", sys.executable, "--python", "python3", cwd=crash)
    assert two.code == 2 and "give --python once" in two.message
    none = refused("replay", "repro.mlir", "--triton", "banana", cwd=crash)
    assert none.code == 2 and "banana" in none.message


def test_a_program_names_no_passes(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("raise ValueError\n")
    said = refused("a.py", "--pass", "cse", cwd=tmp_path)
    assert said.code == 2 and "--pass is for IR" in said.message

"""The programs of the benchmark: told as they are; those of the compiler fail as stated, and their smallest alike."""

from __future__ import annotations

import ast
import importlib
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from shrinkray_gpu.corpus.expectation import Status
from shrinkray_gpu.corpus.replayer import Replayer
from shrinkray_gpu.oracle import all_of, parse
from shrinkray_gpu.reduction.size import tokens
from tests.corpus.fixes import Mechanism, benchmarks

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"


def _suite() -> ModuleType:
    sys.path.insert(0, str(BENCHMARKS))
    try:
        return importlib.import_module("suite")
    finally:
        sys.path.remove(str(BENCHMARKS))


suite = _suite()
PROGRAMS = suite.programs()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_is_what_its_card_says(program: suite.Failing) -> None:
    merged = program.text()
    ast.parse(merged)
    assert 100 <= len(merged.splitlines()) <= 600
    assert tokens((program.folder / "smallest.py").read_text()) == program.smallest
    all_of([parse(spec, folder=program.folder) for spec in program.oracle])


@pytest.mark.parametrize("each", [one for one in benchmarks() if one.case.klass == "compile"], ids=lambda one: one.name)
def test_compiler_fault_and_the_smallest_known_show_the_same(
    each: Mechanism, replayer: Replayer, tmp_path: Path
) -> None:
    program = next(one for one in PROGRAMS if one.name == each.name)
    original = replayer.outcome(each.written(tmp_path / "original", program.path.read_text()))
    assert original.status is Status.FAULTS and original.fault, original.why
    for name, text in (("merged", program.text()), ("smallest", each.text)):
        case = replace(each.written(tmp_path / name, text), fault=original.fault)
        outcome = replayer.outcome(case)
        assert outcome.status is Status.FAULTS, (name, outcome.status, outcome.why)


def test_cold_processes_say_the_same() -> None:
    """As benchmarks/peers.py judges what other tools made: one program stands for all."""
    (program,) = [one for one in PROGRAMS if one.name == "welford_norm"]
    cold = suite.Cold(program, python=sys.executable, arch=90)
    try:
        assert (said := cold.reference(program.path.read_text())).faults, said
        assert (said := cold.judge((program.folder / "smallest.py").read_text())).faults, said
        assert not (said := cold.judge("print('well')\n")).faults, said
    finally:
        cold.close()


def test_without_a_gpu_no_result_of_one_is_replaced() -> None:
    results = BENCHMARKS / "results" / "peers_gpu.json"
    before = results.read_text()
    command = [sys.executable, BENCHMARKS / "peers.py", "beam_assert", "--only", "ours", "--again", "--limit", "5"]
    ran = subprocess.run(command, env={**os.environ, "CUDA_VISIBLE_DEVICES": ""}, capture_output=True, text=True)
    assert (ran.returncode, ran.stdout, len(ran.stderr.splitlines())) == (2, "", 1), ran
    assert "no GPU" in ran.stderr and "--arch sm_90" in ran.stderr
    assert results.read_text() == before

"""compile:, the kernels' code, and static faults."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from shrinkray_gpu.oracle import Answer, parse
from shrinkray_gpu.runner.run import Compilation, Failure, Run
from tests.oracle.runs import (
    BROKEN,
    CAUSE,
    CONTEXT,
    CRASH,
    JSD,
    MLIR,
    OUT_OF_MEMORY,
    PTXAS,
    RUNTIME,
    check_answer,
    failing,
    passing,
    plain,
    traceback,
)

YES, NO, UNKNOWN = Answer.FAULTS, Answer.PASSES, Answer.UNKNOWN
PTX_ERROR = Failure("triton.runtime.errors.PTXASError", "PTXAS error: Internal Triton PTX codegen error", RUNTIME)
DIED = Run("fork", 1, failure=CRASH, compiles=(BROKEN,), stderr=traceback("RuntimeError: PassManager::run failed"))
PTX_DIED = Run("fork", 1, failure=PTX_ERROR, compiles=(Compilation("k", "", failure=PTX_ERROR, printed=PTXAS),))
GOOD = Compilation("add", "h", ir={"ttgir": "%0 = tt.load\n", "ptx": "ld.global.b32"})
TMA = Compilation(
    "jsd", "i", ir={"ttgir": "%1 = ttng.async_tma_copy_global_to_local %2\n", "ptx": "cp.async.bulk.tensor"}
)

WITHIN = Failure(
    "triton.compiler.errors.CompilationError",
    "at 3:4:\n    y = top(x)\n        ^",
    RUNTIME,
    traceback=f"{traceback('OSError: no memory for the other kernel')}{CONTEXT}"
    f"{traceback('KeyError: numel', file='/x/triton/compiler/code_generator.py')}{CONTEXT}"
    f"{traceback('AttributeError: dtype has no attribute numel')}{CAUSE}"
    f"{traceback('triton.compiler.errors.CompilationError: at 3:4:')}",
)
"""The compiler's own error says nothing; what led to it does."""
NESTED = Run("fork", 1, failure=WITHIN, compiles=(Compilation("k", "", failure=WITHIN),))

CASES = {
    "said by the cause": ("compile:has no attribute numel", NESTED, YES),
    "said by what was being handled": ("compile:KeyError: numel", NESTED, YES),
    "said by what the script was handling": ("compile:no memory for the other", NESTED, NO),
    "quoted on the way": (r"compile:main\(\)", NESTED, NO),
    "only printed": ("compile:expected matching shapes", DIED, YES),
    "only printed, by ptxas": (r"compile:Unknown modifier '\.instr'", PTX_DIED, YES),
    "raised": ("compile:PassManager::run failed", DIED, YES),
    "printed by the script": ("compile:bananas", passing(stdout="bananas", compiles=(GOOD,)), NO),
    "in a comment that the compiler quotes": ("compile:a comment about bananas", DIED, NO),
    "in the module that the compiler dumps": ("compile:@bananas", DIED, NO),
    "in the PTX below ptxas's message": (r"compile:bogus\.instr", PTX_DIED, NO),
    "another compile error": ("compile:out of registers", DIED, NO),
    "an exception of the host": ("compile:bananas", failing("ValueError", "bananas", compiles=(GOOD,)), NO),
    "caught, as autotuners do": ("compile:expected matching shapes", passing(compiles=(BROKEN, GOOD)), YES),
    "plain": ("compile:expected matching", plain(MLIR + traceback("RuntimeError: PassManager::run failed")), YES),
    "plain, the dumped module": (
        "compile:@bananas",
        plain(MLIR + traceback("RuntimeError: PassManager::run failed")),
        NO,
    ),
    "plain, printed and exit 0": ("compile:expected matching", plain(MLIR, 0), NO),
    "the compiler aborts the process": (
        "compile:idx < size",
        Run(
            "fork",
            None,
            6,
            stderr="SmallVector.h:295: Assertion `idx < size()' failed.\n",
            compiles=(Compilation("k", ""),),
        ),
        YES,
    ),
    "memory ran out beside others": ("compile:bananas", OUT_OF_MEMORY, UNKNOWN),
    "code of some kernel": ("ttgir:async_tma_copy", passing(compiles=(GOOD, TMA)), YES),
    "code of no kernel": ("ttgir:async_tma_copy", passing(compiles=(GOOD,)), NO),
    "no kernel": ("ttgir:async_tma_copy", passing(), NO),
    "another stage": ("ptx:async_tma_copy", passing(compiles=(TMA,)), NO),
    "absent": ("ttgir:!async_tma_copy", passing(compiles=(GOOD,)), YES),
    "not absent": ("ttgir:!async_tma_copy", passing(compiles=(GOOD, TMA)), NO),
    "absent since nothing is compiled": ("ttgir:!async_tma_copy", passing(), NO),
    "absent since compiling failed": ("ttgir:!async_tma_copy", DIED, NO),
    "not delivered": ("sass:UTMALDG", passing(compiles=(GOOD,)), UNKNOWN),
    "code of a program that then fails": ("ttgir:async_tma_copy", failing("ValueError", "x", compiles=(TMA,)), YES),
    "static fault": (
        "static:tma-alignment",
        passing(virtual=True, launches=(replace(JSD, fault="tma-alignment: 16 of 128"),)),
        YES,
    ),
    "static fault nobody waits for": (
        "static:tma-alignment",
        passing(virtual=True, launches=(replace(JSD, fault="tma-alignment: 16 of 128", synced=False),)),
        NO,
    ),
    "no static fault": ("static:tma-alignment", passing(virtual=True, launches=(JSD,)), NO),
    "nothing launched": ("static:tma-alignment", passing(virtual=True), NO),
    "a real device does not tell": ("static:tma-alignment", passing(launches=(JSD,)), UNKNOWN),
}


@pytest.mark.parametrize("case", CASES)
def test_compiled(case: str) -> None:
    check_answer(*CASES[case])


def test_the_why_says_which_kernel_and_what() -> None:
    assert parse("compile:matching shapes", folder=Path()).judge(DIED).why == (
        "compiling k: /tmp/x/failing.py:9:8: error: 'tt.dot' op expected matching shapes"
    )
    assert parse("compile:out of registers", folder=Path()).judge(DIED).why == (
        "compiling k fails otherwise: RuntimeError: PassManager::run failed"
    )


def test_code_oracles_say_which_stage_the_runner_must_deliver() -> None:
    assert parse("ttgir:x", folder=Path()).needs.wants == ("ttgir",)
    assert parse("compile:x", folder=Path()).needs.wants == ()


def test_an_original_that_dies_of_the_compile_error_is_not_matched_by_one_that_catches_it() -> None:
    caught = passing(compiles=(BROKEN,))
    oracle = parse("compile:matching shapes", folder=Path())
    assert oracle.calibrate(DIED).judge(caught).answer is NO
    assert oracle.calibrate(caught).judge(caught).faults
    assert oracle.calibrate(caught).judge(plain("", 0)).answer is UNKNOWN

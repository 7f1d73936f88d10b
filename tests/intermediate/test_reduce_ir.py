"""Whole reductions with the real compiler: the fault, the pass, the size, and what is refused."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from shrinkray_gpu.errors import NotReproduced, UsageError
from shrinkray_gpu.intermediate.compiler import IrCompiler
from shrinkray_gpu.intermediate.generic_text import read
from shrinkray_gpu.intermediate.ir_fault import IrFault, fault_told, kind_without_words
from shrinkray_gpu.intermediate.ir_replay import replay_ir
from shrinkray_gpu.intermediate.lit_test import fault_of
from shrinkray_gpu.intermediate.model import count
from shrinkray_gpu.intermediate.options import IrOptions
from shrinkray_gpu.intermediate.pass_table import PassCall
from shrinkray_gpu.intermediate.reduce_ir import check_ir, reduce_ir
from shrinkray_gpu.oracle.words import plain_pattern
from tests.intermediate.conftest import Asked
from tests.intermediate.programs import LAID_OUT, LOOP, SELECT

CASES = Path(__file__).parents[2] / "benchmarks" / "ir_cases"
POINTERS = "tritonamdgpu-canonicalize-pointers"


def options(**given: object) -> IrOptions:
    return IrOptions(python=sys.executable, **given)  # type: ignore[arg-type]


def written(folder: Path, text: str, name: str = "crash.ttir") -> Path:
    path = folder / name
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("name", "arch", "failing"),
    [
        ("merged_pointers.ttir", "gfx942", POINTERS),
        ("row_pointers.ttir", "gfx942", POINTERS),  # smaller modules fail otherwise in this pass
        ("gather_warps.ttir", "sm_90", "tritongpu-optimize-thread-locality"),
        ("early_return.ttir", "gfx942", POINTERS),
        ("coalesced_layout.log", "", "convert-triton-amdgpu-to-llvm"),
        ("call_cycle.ttgir", "", "tritongpu-global-scratch-memory-allocation"),
    ],
)
def test_a_case_comes_to_the_size_that_was_made_by_hand(
    asked: Asked, tmp_path: Path, name: str, arch: str, failing: str
) -> None:
    minimum = CASES / f"{name.partition('.')[0]}.minimum.mlir"
    found = reduce_ir(CASES / name, options(arch=arch))
    assert found.fault == check_ir(minimum, options()), "the fault of the minimum"
    assert found.fault == check_ir(written(tmp_path, found.text, "repro.mlir"), options()), "and of the result"
    assert found.fault.name == failing
    by_hand = count(asked.module(minimum.read_text()))
    assert found.after <= by_hand < found.before
    assert found.text.startswith(f"// RUN: triton-opt %s -{failing}")
    assert found.tally.parsed >= 0.9 * found.tally.tries > 0


def test_the_result_replays_and_is_reduced_to_itself(tmp_path: Path) -> None:
    first = reduce_ir(written(tmp_path, SELECT), options(arch="gfx942"))
    repro = written(tmp_path, first.text, "repro.mlir")
    assert fault_of(first.text) == str(first.fault)
    again = replay_ir(repro, options())
    assert again.outcome == "still faults" and again.why == str(first.fault)
    second = reduce_ir(repro, options())
    assert (second.before, second.after) == (first.after, first.after)


def test_another_order_of_the_tries_comes_to_the_same_size(tmp_path: Path) -> None:
    path = written(tmp_path, SELECT)
    assert {reduce_ir(path, options(arch="gfx942", seed=seed)).after for seed in range(3)} == {1}


def test_passes_by_name(tmp_path: Path) -> None:
    passes = (PassCall("cse"), PassCall(POINTERS))
    found = reduce_ir(written(tmp_path, SELECT), options(passes=passes))
    assert found.fault.name == POINTERS and "-cse" not in found.text, "the pass that fails is enough"


def test_options_of_the_compiler(tmp_path: Path) -> None:
    path = CASES / "gather_warps.ttir"
    assert check_ir(path, options(arch="sm_90", settings={"num_warps": 4})).kind == "assertion"
    with pytest.raises(NotReproduced, match="without a fault"):
        check_ir(path, options(arch="sm_90", settings={"num_warps": 1}))


def test_time_ends_the_search_and_the_best_so_far_is_a_result(tmp_path: Path) -> None:
    found = reduce_ir(CASES / "unary_update.ttir", options(arch="gfx942", max_time=0.01))
    assert found.after >= 30 and "math.exp" in found.text
    assert found.ended == "out of time" and found.to_json()["ended"] == "out of time"


def test_a_run_line_that_cannot_be_read_back_is_told(tmp_path: Path) -> None:
    passes = (PassCall("convert-triton-amdgpu-to-llvm", {"arch": "no such"}),)
    found = reduce_ir(written(tmp_path, LAID_OUT), options(passes=passes))
    assert "no such" in found.fault.words and "no such" in found.text and "changed fault" in found.refuted
    sound = reduce_ir(written(tmp_path, LAID_OUT), options(passes=(replace(passes[0], options={"arch": "no"}),)))
    assert not sound.refuted and sound.ended == "done" and sound.to_json()["text"] == sound.text


def test_words_of_a_fault_are_one_line() -> None:
    assert str(IrFault("p", "failure", "TypeError: one\n  two")) == "p: TypeError: one two"


@pytest.mark.parametrize(
    ("text", "given", "kind", "message"),
    [
        (LOOP, {"arch": "gfx942"}, NotReproduced, "goes through the passes of gfx942 without a fault"),
        (SELECT, {"arch": "sm_90"}, NotReproduced, "without a fault"),
        (SELECT, {}, UsageError, "names no passes"),
        (SELECT, {"arch": "gfx924"}, UsageError, "gfx942; did you mean gfx942"),
        (SELECT, {"arch": "sm_banana"}, UsageError, "sm_banana"),
        (SELECT, {"arch": "gfx942", "words": (plain_pattern("out of memory"),)}, NotReproduced, "fails otherwise"),
        (SELECT.replace("arith.select", "arith.selects"), {"arch": "gfx942"}, UsageError, "does not parse"),
        (SELECT, {"passes": (PassCall("no-such-pass"),)}, UsageError, "has no pass no-such-pass"),
    ],
    ids=["no fault", "another target", "no passes", "unknown gfx", "unknown sm", "other words", "no MLIR", "no pass"],
)
def test_what_is_refused(
    tmp_path: Path, text: str, given: dict[str, object], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message) as raised:
        reduce_ir(written(tmp_path, text), options(**given))
    assert "\n" not in str(raised.value)


def test_a_replay_tells_what_changed(tmp_path: Path) -> None:
    run = f"// RUN: triton-opt %s -{POINTERS}\n"
    fixed = replay_ir(written(tmp_path, f"{run}{LOOP}", "a.mlir"), options())
    assert fixed.outcome == "fixed"
    other = replay_ir(written(tmp_path, f"{run}// Fault: {POINTERS}: another one\n{SELECT}", "b.mlir"), options())
    assert other.outcome == "changed fault" and "CanonicalizePointers.cpp" in other.why
    new = replay_ir(written(tmp_path, f"{run}{SELECT.replace('arith.select', 'tt.choose')}", "c.mlir"), options())
    assert new.outcome == "format changed" and "does not parse" in new.why
    gone = replay_ir(written(tmp_path, f"// RUN: triton-opt %s -old-pass\n{SELECT}", "d.mlir"), options())
    assert gone.outcome == "format changed" and "no pass old-pass" in gone.why
    with pytest.raises(UsageError, match="no RUN: line"):
        replay_ir(written(tmp_path, SELECT, "e.mlir"), options())


def test_an_interpreter_without_triton(tmp_path: Path) -> None:
    bare = tmp_path / "bare" / "bin" / "python"
    bare.parent.mkdir(parents=True)
    bare.symlink_to(Path(sys.executable).resolve())  # outside of the environment, so without its packages
    with pytest.raises(UsageError, match="cannot import Triton"):
        IrCompiler(str(bare), {}, "")


def test_an_assertion_ends_a_child_and_not_the_worker(asked: Asked) -> None:
    step = asked.compiler.table.step(PassCall(POINTERS), "")
    trials = [asked.compiler.run(SELECT, [step]) for _ in range(3)]
    assert all(not trial.done and "Assertion" in trial.said for trial in trials)
    assert asked.compiler.run(LOOP, [step]).done
    assert read(asked.compiler.normal(LOOP).texts["generic"])


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        (
            "python: /project/lib/A/B.cpp:90: auto f(int)::(anonymous class): Assertion `x > 0' failed.\n",
            IrFault("p", "assertion", "x > 0", "B.cpp", "auto f(int)::(anonymous class)"),
        ),
        (
            "cannot do this\nUNREACHABLE executed at /a/b.cpp:12!\n",
            IrFault("p", "unreachable", "cannot do this", "b.cpp"),
        ),
        ("a.mlir:7:1: error: 'a.b' op fails\nLLVM ERROR: fatal\n", IrFault("p", "LLVM error", "'a.b' op fails; fatal")),
        ("LLVM ERROR: 3 of %12 in tensor<4xf32>\n", IrFault("p", "LLVM error", "3 of %12 in tensor<4xf32>")),
        ("/tmp/a.mlir:3:1: error: 'tt.dot' op has 2 uses\n", IrFault("p", "error", "'tt.dot' op has 2 uses")),
        ("a.mlir:1:1: error: Failures have been detected while processing an MLIR pass pipeline\n", None),
    ],
)
def test_the_words_of_a_fault(said: str, fault: IrFault | None) -> None:
    told = fault_told(said, "p")
    assert told == fault and str(told) == str(fault)


def test_what_a_fault_quotes_of_the_program_is_shown_and_not_compared() -> None:
    fault = IrFault("p", "error", "'tt.dot' op result #0 has 2 uses")
    assert str(fault) == "p: 'tt.dot' op result #0 has 2 uses"
    assert fault == IrFault("p", "error", "'tt.dot' op result #1 has 13 uses") != IrFault("p", "error", "'tt.dot' op")
    assert fault.is_told_by("p: 'tt.dot' op result #_ has _ uses") and not fault.is_told_by("p: 'tt.dot' op")
    asserted = IrFault("p", "assertion", "at < 4", "B.cpp")
    assert asserted != IrFault("p", "assertion", "at < 5", "B.cpp") and asserted.is_told_by("p: B.cpp: at < 4")
    assert not asserted.is_told_by("p: B.cpp: at < 5")


@pytest.mark.parametrize(("number", "kind"), [(11, "signal SIGSEGV"), (35, "signal 35")])
def test_a_signal_may_have_no_name(number: int, kind: str) -> None:
    assert kind_without_words("", number) == kind

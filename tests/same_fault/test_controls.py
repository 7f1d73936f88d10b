"""A control passes only if it was in force and the program ended well; anything else is told for what it is."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.oracle import Answer, all_of, parse
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.runner import knob_settings
from shrinkray_gpu.runner.knob_settings import PLAIN, KnobSetting
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Pool, Script
from shrinkray_gpu.runner.run import Compilation, Failure, Run
from shrinkray_gpu.same_fault.controls import (
    Control,
    ControlOutcome,
    ControlResult,
    Controls,
    named_controls,
    outcome,
    refuse,
    standard,
)
from shrinkray_gpu.same_fault.patch.patches import Patch
from tests.oracle.runs import CRASH, JSD, MISALIGNED, OUT_OF_MEMORY, SWALLOWED, failing, passing

PASSES, FAULTS, IDLE = ControlOutcome.PASSES, ControlOutcome.FAULTS, ControlOutcome.NOT_APPLICABLE
ORACLE = parse("misaligned address", folder=Path()).calibrate(MISALIGNED)


def control(name: str) -> Control:
    return Control(name, knob_settings.parse_setting(name))


STAGES, SERIAL, INTERPRETER, EXACT = map(control, ("num_stages=1", "serial", "interpreter", "exact-allocation"))
TURNED = passing(turned={"num_stages": 2}, launches=(JSD,))
HUNG = Run("fork", None, timed_out=True, seconds=9.0, turned={"num_stages": 2})
BAD_COMPILE = Compilation("jsd", "", failure=Failure("triton.runtime.errors.OutOfResources", "shared memory"))

CASES = {
    "ends well, and something was turned": (STAGES, TURNED, PASSES, "exit 0"),
    "ends well, and nothing was turned": (STAGES, passing(turned={"num_stages": 0}, launches=(JSD,)), IDLE, "to turn"),
    "ends well, and nobody counted": (STAGES, passing(launches=(JSD,)), IDLE, "to turn"),
    "an environment is not counted": (EXACT, passing(launches=(JSD,)), PASSES, "exit 0"),
    "the interpreter launches nothing": (INTERPRETER, passing(turned={"interpreter": 3}), PASSES, "exit 0"),
    "the interpreter had nothing to interpret": (INTERPRETER, passing(turned={"interpreter": 0}), IDLE, "to turn"),
    "the fault, although it was turned": (STAGES, replace(MISALIGNED, turned={"num_stages": 1}), FAULTS, "misaligned"),
    "the fault, with nothing to turn": (STAGES, replace(MISALIGNED, turned={"num_stages": 0}), FAULTS, "misaligned"),
    "a Python error": (STAGES, failing("NameError", "x", turned={"num_stages": 1}), IDLE, "NameError"),
    "a compile error": (STAGES, failing("RuntimeError", CRASH.text, turned={"num_stages": 1}), IDLE, "PassManager"),
    "another sticky error": (STAGES, replace(TURNED, driver_error=700), IDLE, "illegal memory access"),
    "a fault in a child": (STAGES, replace(TURNED, children=("ValueError: x",)), IDLE, "ValueError"),
    "a swallowed compile error": (STAGES, replace(TURNED, compiles=(BAD_COMPILE,)), IDLE, "does not compile"),
    "a swallowed error before the launch": (STAGES, replace(TURNED, launches=()), IDLE, "no kernel is launched"),
    "stopped at the time limit": (STAGES, HUNG, IDLE, "9 s"),
    "the lane died": (STAGES, replace(TURNED, trouble="the lane was gone"), IDLE, "the lane was gone"),
    "short of memory beside others": (STAGES, OUT_OF_MEMORY, IDLE, "out of memory"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_outcomes(case: str) -> None:
    tried, run, expected, said = CASES[case]
    seen, why = outcome(run, ORACLE.judge(run), tried, MISALIGNED)
    assert seen is expected, why
    assert said in why and "\n" not in why


def test_a_program_may_end_in_an_error_of_its_own_by_design() -> None:
    """It catches the device's error and exits 3, and without the fault it exits 3 too."""
    original = Run("fork", 3, driver_error=716, launches=(JSD,))
    mended = Run("fork", 3, launches=(JSD,), turned={"num_stages": 1})
    oracle = parse("misaligned address", folder=Path()).calibrate(original)
    assert outcome(mended, oracle.judge(mended), STAGES, original)[0] is PASSES
    assert outcome(replace(mended, exit=4), oracle.judge(mended), STAGES, original)[0] is IDLE
    assert outcome(mended, oracle.judge(mended), STAGES, MISALIGNED)[0] is IDLE


def test_the_words_of_the_fault_without_the_fault_are_no_pass() -> None:
    """The script raises the words itself, with or without the driver's error."""
    words = replace(MISALIGNED, driver_error=0, turned={"num_stages": 1})
    assert not ORACLE.judge(words).faults
    assert outcome(words, ORACLE.judge(words), STAGES, MISALIGNED)[0] is IDLE


def test_a_program_that_swallows_the_fault() -> None:
    oracle = parse("misaligned address", folder=Path()).calibrate(SWALLOWED)
    assert outcome(SWALLOWED, oracle.judge(SWALLOWED), STAGES, SWALLOWED)[0] is FAULTS
    assert outcome(TURNED, oracle.judge(TURNED), STAGES, SWALLOWED)[0] is PASSES


def test_compile_failures_that_the_original_swallows_too_are_its_own_business() -> None:
    tuned = replace(TURNED, compiles=(BAD_COMPILE,))  # an autotuner goes on to the next configuration
    reference = replace(MISALIGNED, compiles=(BAD_COMPILE,))
    assert outcome(tuned, ORACLE.judge(tuned), STAGES, reference)[0] is PASSES


# Controls on a program


class Plays:
    """Answers each way with the runs given for it, in turn; the last one again and again."""

    def __init__(self, **runs: tuple[Run, ...]) -> None:
        self.runs = {name.replace("_is_", "="): list(answers) for name, answers in runs.items()}
        self.asked: list[tuple[str, str]] = []

    def __call__(self, source: str, way: KnobSetting) -> Run:
        self.asked.append((source, way.name))
        answers = self.runs[way.name]
        return answers.pop(0) if len(answers) > 1 else answers[0]


def serial(run: Run) -> Run:
    return replace(run, turned={"serial": 1})


LAME, DEAD = passing(turned={"num_stages": 0}, launches=(JSD,)), replace(TURNED, trouble="the lane was gone")
GUARDS = {
    "all pass": ((TURNED,), (serial(TURNED),), Answer.FAULTS, "num_stages=1 passes, serial passes"),
    "one does not apply any more": ((LAME,), (serial(TURNED),), Answer.FAULTS, "num_stages=1 not applicable"),
    "one still faults": ((TURNED,), (serial(MISALIGNED),), Answer.PASSES, "serial still faults: another cause"),
    "one answers nothing": ((DEAD,), (serial(TURNED),), Answer.UNKNOWN, "num_stages=1: its run answers nothing"),
    "one answers nothing, one still faults": ((DEAD,), (serial(MISALIGNED),), Answer.PASSES, "serial still faults"),
    "one is stopped": ((HUNG,), (serial(TURNED),), Answer.FAULTS, "num_stages=1 not applicable"),
}  # fmt: skip


@pytest.mark.parametrize("case", GUARDS)
def test_guards(case: str) -> None:
    stages, serials, expected, said = GUARDS[case]
    controls = Controls(Plays(num_stages_is_1=stages, serial=serials), ORACLE, reference=MISALIGNED)
    verdict = controls.guard("program", (STAGES, SERIAL))
    assert verdict.answer is expected, verdict.why
    assert said in verdict.why


def test_a_control_that_turns_the_cause_itself_must_find_something_to_turn() -> None:
    """Seen on an H100: far out of bounds with 64 bits as with 32, but in memory that another tensor had left mapped."""
    wide = control("int64")
    for turned, expected in ((3, Answer.FAULTS), (0, Answer.PASSES)):
        plays = Plays(int64=(passing(turned={"int64": turned}, launches=(JSD,)),))
        verdict = Controls(plays, ORACLE, reference=MISALIGNED).guard("program", (wide,))
        assert verdict.answer is expected, verdict.why


def test_behind_a_check_that_would_pass_a_step_ends_well_as_the_original_does() -> None:
    """A variable that the passing way needs, and the failing one does not."""
    near = control("apart=0.1")
    for run, expected in (
        (passing(turned={"apart": 2}, launches=(JSD,)), Answer.FAULTS),
        (failing("NameError", "status", turned={"apart": 2}), Answer.PASSES),
        (replace(failing("NameError", "status", turned={"apart": 2}), trouble="the lane was gone"), Answer.UNKNOWN),
    ):
        verdict = Controls(lambda *_, run=run: run, ORACLE, reference=MISALIGNED).guard("program", (near,))
        assert verdict.answer is expected, verdict.why


@pytest.mark.parametrize(("original", "step", "holds"), [(0, 1, False), (0, 0, True), (1, 1, True)])
def test_a_step_stays_inside_its_tensors_as_the_original_does(original: int, step: int, holds: bool) -> None:
    """With 64 bits, too, memory that is mapped beyond a tensor hides that a step points there."""
    plays = Plays(
        int64=tuple(passing(turned={"int64": 3, "outside": outside}, launches=(JSD,)) for outside in (original, step))
    )
    controls = Controls(plays, ORACLE, reference=MISALIGNED)
    kept = controls.attempt(control("int64"), "original")
    assert kept.outcome is PASSES
    verdict = controls.guard("step", (kept.control,))
    assert verdict.faults is holds, verdict.why


def test_a_flaky_fault_needs_several_clean_runs_to_pass_and_one_sighting_to_fault() -> None:
    late = (TURNED, TURNED, replace(MISALIGNED, turned={"num_stages": 2}), TURNED)
    for repeats, expected in ((2, PASSES), (3, FAULTS)):
        plays = Plays(num_stages_is_1=late)
        assert Controls(plays, ORACLE, reference=MISALIGNED, repeats=repeats).attempt(STAGES, "").outcome is expected
        assert len(plays.asked) == repeats


def test_an_oracle_that_is_a_script_cannot_be_asked_under_a_control(tmp_path: Path) -> None:
    (tmp_path / "test.sh").write_text("#!/bin/sh\nexit 0\n")
    (tmp_path / "test.sh").chmod(0o755)
    script = parse("script:./test.sh", folder=tmp_path)
    plays = Plays(num_stages_is_1=(replace(MISALIGNED, turned={"num_stages": 1}),))
    assert Controls(plays, script).attempt(STAGES, "").outcome is IDLE
    assert not plays.asked
    assert Controls(plays, all_of([ORACLE, script])).attempt(STAGES, "").outcome is IDLE


def test_half_a_patch_that_mends_nothing_says_nothing() -> None:
    """What is missing of it may be what mends the fault; what is there may be idle."""
    patch = Patch("fix.diff", "alpha = 1\nbeta = 2\ngamma = 3\n", "alpha = 1\nbeta = 5\ngamma = 6\n")
    half = Control(patch.name, patch=patch)
    for source, run, expected, said in (
        ("beta = 2\ngamma = 3\n", MISALIGNED, FAULTS, "the driver says"),
        ("beta = 2\n", MISALIGNED, IDLE, "only 1 of 2 changes of fix.diff fit"),
        ("beta = 2\n", passing(launches=(JSD,)), PASSES, "only 1 of 2 changes of fix.diff fit"),
        ("alpha = 1\n", MISALIGNED, IDLE, "fix.diff does not fit any more"),
    ):
        plays = Plays(**{PLAIN.name: (run,)})
        tried = Controls(plays, ORACLE, reference=MISALIGNED).attempt(half, source)
        assert tried.outcome is expected and said in tried.why, tried
        changed = source.replace("2", "5").replace("3", "6")
        assert plays.asked == ([(changed, "as it is")] if changed != source else [])


# Options

SCRIPT = Program.from_text("stages = 3\nprint(stages)\n", "failing.py")
FIX = "--- a/failing.py\n+++ b/failing.py\n@@ -1,2 +1,2 @@\n-stages = 3\n+stages = 1\n print(stages)\n"


def test_the_options_make_controls(tmp_path: Path) -> None:
    (tmp_path / "fix.diff").write_text(FIX)
    found = named_controls(["num_stages=01", "num_stages=1"], ["A=b=c", "low=1"], [tmp_path / "fix.diff"], SCRIPT)
    assert [one.name for one in found] == ["num_stages=1", "A=b=c", "low=1", "fix.diff"]
    assert found[1].way.environment == {"A": "b=c"} and found[2].way.environment == {"low": "1"}
    assert found[3].patch is not None and found[3].patch.carry(SCRIPT.text).text == "stages = 1\nprint(stages)\n"
    assert found[3].way == PLAIN


@pytest.mark.parametrize(
    ("names", "environments", "said"),
    [
        (["numstages=1"], [], "num_stages"),
        (["num_stages=many"], [], "whole number"),
        (["as it is"], [], "changes nothing"),
        ([], ["K"], "NAME=VALUE"),
        ([], ["1K=v"], "NAME=VALUE"),
        ([], ["CUDA_VISIBLE_DEVICES=1"], "cannot be turned"),
    ],
)
def test_bad_options_are_refused(names: list[str], environments: list[str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        named_controls(names, environments, [], SCRIPT)


@pytest.mark.parametrize(
    ("tried", "said"),
    [
        (ControlResult(STAGES, FAULTS, "the driver says 716"), "still shows the fault: the driver says 716"),
        (ControlResult(STAGES, IDLE, "nothing there to turn"), "not applicable to the original: nothing there to turn"),
        (ControlResult(STAGES, IDLE, "the lane was gone", known=False), "the lane was gone.*try again"),
    ],
)
def test_a_control_that_does_not_make_the_original_pass_is_refused_in_one_line(tried: ControlResult, said: str) -> None:
    with pytest.raises(UsageError, match=said) as raised:
        refuse(tried)
    assert "num_stages=1" in str(raised.value) and "\n" not in str(raised.value)


# On the virtual GPU

KERNEL = """
import torch
import triton
import triton.language as tl

@triton.jit
def kernel(x, out):
    tile = tl.make_tensor_descriptor(x, shape=[1, 64], strides=[64, 1], block_shape=[1, 4])
    total = tl.zeros([1, 4], tl.float32)
    for start in tl.range(0, 64, 4, num_stages=STAGES):
        total += tile.load([0, start])
    tl.store(out, tl.sum(total))

triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
kernel[(1,)](torch.zeros(64, device="cuda"), torch.zeros(1, device="cuda"))
torch.cuda.synchronize()
"""
FAULTY = KERNEL.replace("STAGES", "3")
MENDED = KERNEL.replace("STAGES", "1")
SLIPPED = FAULTY + "raise torch.AcceleratorError('CUDA error: misaligned address')\n"


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    folder = tmp_path_factory.mktemp("controls")
    environment = {**os.environ, "TRITON_CACHE_DIR": str(folder / "cache")}
    setup = Setup(sys.executable, environment, ("torch", "triton"), own=(), scratch=str(folder), arch=90)
    made = Pool(Script(folder / "failing.py", cwd=folder), setup, mode="virtual", jobs=1, seconds=120)
    yield made
    made.close()


@pytest.fixture(scope="module")
def controls(pool: Pool) -> Controls:
    reference = pool.run(FAULTY)
    oracle = parse("misaligned address", folder=Path()).calibrate(reference)
    assert oracle.judge(reference).faults
    return Controls(lambda text, way: pool.run(text, way=way), oracle, reference=reference)


def test_the_standard_controls_tell_the_cause(controls: Controls) -> None:
    tried = {one.name: controls.attempt(one, FAULTY) for one in standard(gpu=False)}
    assert {name: one.outcome for name, one in tried.items()} == {
        "num_stages=1": PASSES,
        "num_warps=1": FAULTS,
        "ptxas=-O0": FAULTS,
    }
    assert tried["num_stages=1"].why == "no fault, it ends well (exit 0), 1 turned"


def test_nothing_to_turn_and_other_deaths_do_not_apply(controls: Controls) -> None:
    for source in (MENDED, "print(1)\n", FAULTY.replace("import torch\n", ""), SLIPPED):
        tried = controls.attempt(STAGES, source)
        assert (tried.outcome, tried.known) == (IDLE, True), tried
    assert controls.guard(FAULTY, [STAGES]).faults


def test_a_patch_is_a_control(controls: Controls, tmp_path: Path) -> None:
    (tmp_path / "mended.py").write_text(MENDED)
    [patch] = named_controls([], [], [tmp_path / "mended.py"], Program.from_text(FAULTY, "failing.py"))
    smaller = FAULTY.replace("start", "s").replace("tl.sum(total)", "0").replace(", 4, num_stages", ", num_stages")
    assert controls.attempt(patch, FAULTY).outcome is PASSES
    assert controls.attempt(patch, smaller).outcome is PASSES
    gone = controls.attempt(patch, "print(3)\n")
    assert gone.outcome is IDLE and "mended.py does not fit any more" in gone.why
    twice = FAULTY.replace("def kernel", "def k2").replace("kernel[", "k2[").replace("tile", "other")
    verdict = controls.guard(FAULTY + twice, [patch])
    assert verdict.answer is Answer.PASSES, verdict.why

"""Slippage checks on real runs: the corpus repro on the virtual GPU, against programs that fool a weak oracle."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

from shrinkray_gpu.calibration import Limits, Plan, make
from shrinkray_gpu.device.instruction import holds
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.evidence import examine
from shrinkray_gpu.judging.candidate import Candidate
from shrinkray_gpu.judging.instruction_check import InstructionCheck
from shrinkray_gpu.judging.policy import Policy
from shrinkray_gpu.judging.repetition import FlakyTest
from shrinkray_gpu.judging.tiered_test import TieredTest
from shrinkray_gpu.judging.tightening import Tightening
from shrinkray_gpu.oracle import Answer, Fault, Verdict, parse
from shrinkray_gpu.oracle.cause_check import HOST
from shrinkray_gpu.oracle.fault import Reference
from shrinkray_gpu.oracle.statistics import Rate
from shrinkray_gpu.oracle.verdict import lacks
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.runner import knob_settings
from shrinkray_gpu.runner.knob_settings import KnobSetting
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Script
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.same_fault.active_controls import ActiveControls, ControlTrials
from shrinkray_gpu.same_fault.controls import Control, ControlOutcome, ControlResult, Controls
from shrinkray_gpu.same_fault.fault_comparison import FaultComparison
from shrinkray_gpu.same_fault.fingerprints import Examine, Fingerprints
from shrinkray_gpu.same_fault.slippage_checks import CONTROLLED, WITHOUT_CODE, SlippageChecks
from tests.oracle.runs import JSD, MISALIGNED, passing

REPRO = (Path(__file__).parents[2] / "corpus/tma_misaligned/repro_tma_misaligned.py").read_text()
WEAK = "exception:RuntimeError"
"""What torch raises for the fault is one, as is nearly anything that a script raises by itself."""

HARMLESS = """
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x):
    tl.store(x, 1.0)


kernel[(1,)](torch.zeros(1, device="cuda"))
raise RuntimeError("the rows do not add up")
"""
"""An error of the script's own, and a kernel without descriptors."""

STORE = Fault("device", "misaligned address", "kernel", 716, instruction="STG", space="global", size=4)

ALIGNED = REPRO.replace("num_stages=3", "num_stages=1") + 'raise RuntimeError("the rows do not add up")\n'
"""The same error, and the instruction of the original's fault in its kernel: only a look at it tells them apart."""


def control(name: str) -> Control:
    return Control(name, knob_settings.parse_setting(name))


STAGES, WARPS = control("num_stages=1"), control("num_warps=2")
SERIAL, CALM, INTERPRETER = control("serial"), control("CALM=1"), control("interpreter")


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plan]:
    pytest.importorskip("triton")
    folder = tmp_path_factory.mktemp("plan")
    path = folder / "failing.py"
    path.write_text(REPRO)
    environment = {**os.environ, "TRITON_CACHE_DIR": str(folder / "cache")}
    setup = Setup(sys.executable, environment, (), (str(folder),), str(folder), arch=90, confine=False)
    script = Script(path, cwd=folder)
    plan = make(REPRO, script, setup, oracle=parse(WEAK, folder=folder), limits=Limits(2))
    yield plan
    plan.close()


@pytest.fixture(name="test")
def tiered(plan: Plan) -> Iterator[TieredTest]:
    made = TieredTest(plan.oracle, plan.pool)
    yield made
    made.close()


Guarded = Callable[..., SlippageChecks]
Look = Callable[[str], "Fault | None"]


def checked(
    test: TieredTest,
    controls: Controls,
    *,
    first: Controls | None = None,
    chosen: Sequence[Control] = (),
    standard: Sequence[Control] = (),
    examine: Examine | None = None,
    known: Fault | None = None,
    reference: Reference | None = None,
) -> SlippageChecks:
    """The checks of a reduction of the repro; the controls are tried at once where `first` tries them."""
    trials = ControlTrials(first or controls, controls, controls, at_once=first is not None)
    active = ActiveControls(program(REPRO), trials, chosen=chosen, standard=standard, lanes=2)
    fingerprints = Fingerprints(REPRO, reference, examine=examine, known=known)
    return SlippageChecks(test, active, fingerprints, by_code=known is not None)


@pytest.fixture
def guarded(plan: Plan, test: TieredTest) -> Iterator[Guarded]:
    """guarded(...): checks of the repro, with real controls; closed at the end."""
    made: list[SlippageChecks] = []

    def run(text: str, way: KnobSetting) -> Run:
        return plan.pool.run(text, way=way)

    def checks(**more: Any) -> SlippageChecks:
        more.setdefault("controls", Controls(run, plan.oracle, reference=plan.reference))
        made.append(checked(test, reference=Reference.of(plan.reference), **more))
        return made[-1]

    yield checks
    test.close()
    for one in made:
        one.close()


@pytest.fixture(scope="module")
def look(plan: Plan) -> Look:
    """The instruments; each program is shown to them once, since they take seconds."""
    return cache(partial(examine.fingerprint, script=plan.pool.script, setup=plan.pool.setup, seconds=60.0))


def judged(test: TieredTest, text: str) -> Verdict:
    return test.settle(test.candidate(text))


def tightening(test: TieredTest) -> Tightening:
    """What the test was taught."""
    return test.policy.tightening


def program(text: str) -> Program:
    return Program.from_text(text)


# Controls on the original


def test_all_are_asked_at_once_and_waited_for_but_the_slowest(guarded: Guarded, plan: Plan) -> None:
    together, slow = threading.Barrier(2), threading.Event()

    def run(text: str, way: KnobSetting) -> Run:
        if way == INTERPRETER.way:
            slow.wait()
        else:
            together.wait()
        return plan.reference

    try:
        checks = guarded(standard=(STAGES, WARPS, INTERPRETER), first=Controls(run, plan.oracle))
        checks.controls.settle()
        assert [future.done() for future in checks.controls._tried] == [True, True, False]
    finally:
        slow.set()
    assert [one.outcome for one in checks.controls.tried] == [ControlOutcome.FAULTS] * 3


# Controls on accepted steps


def test_the_control_that_mends_the_original_must_mend_each_step(guarded: Guarded) -> None:
    checks = guarded(standard=(STAGES, WARPS))
    assert [(one.control.name, one.outcome) for one in checks.controls.tried] == [
        ("num_stages=1", ControlOutcome.PASSES),
        ("num_warps=2", ControlOutcome.FAULTS),
    ]
    assert checks.controls.active == (STAGES,)
    held = checks.control_verdict(
        program(REPRO.replace("tl.exp(student.load([0, 0]))", "student.load([0, 0])"))
    ).result()
    assert held.faults and "num_stages=1 passes" in held.why
    slipped = checks.control_verdict(program(HARMLESS)).result()
    assert slipped.answer is Answer.PASSES and "num_stages=1 still faults: another cause" in slipped.why


def test_without_a_control_that_passes_there_is_nothing_to_hold_a_step_against(guarded: Guarded) -> None:
    checks = guarded(standard=(WARPS,))
    assert checks.control_verdict(program(HARMLESS)).result().faults and not checks.controls.active


def test_a_control_of_the_user_s_must_make_the_original_pass(guarded: Guarded) -> None:
    guarded(chosen=(STAGES,), standard=(WARPS,)).controls.insist()
    with pytest.raises(UsageError, match="under the control num_warps=2 the original still shows the fault"):
        guarded(chosen=(STAGES, WARPS)).controls.insist()


# The full fingerprint, and what follows from a drift


def test_the_fingerprint_of_the_repro_is_its_own(guarded: Guarded, look: Look) -> None:
    checks = guarded(standard=(STAGES,), examine=look)
    verdict = checks.fingerprint_verdict(program(REPRO)).result()
    assert verdict.faults and "UTMALDG" in verdict.why
    evidence = checks.compared(REPRO)
    assert evidence.original == evidence.repro and evidence.original is not None
    assert (evidence.original.instruction, evidence.original.space) == ("UTMALDG", "shared")
    assert evidence.difference == "" and [one.outcome for one in evidence.repro_controls] == [ControlOutcome.PASSES]


def test_instruments_that_saw_no_instruction_in_the_repro_are_asked_once_more(guarded: Guarded, look: Look) -> None:
    fault = look(REPRO)
    assert fault is not None and fault.instruction
    answers = iter([fault, replace(fault, instruction="", space=""), fault])
    evidence = guarded(examine=lambda text: next(answers)).compared(ALIGNED)
    assert evidence.repro == fault and "UTMALDG" in evidence.summary()
    assert next(answers, None) is None


def test_where_the_code_tells_them_apart_each_candidate_is_asked_for_its_code(
    guarded: Guarded, test: TieredTest, look: Look
) -> None:
    checks = guarded(examine=look)
    assert judged(test, HARMLESS).faults, "the oracle is a weak one"
    drift = checks.fingerprint_verdict(program(HARMLESS)).result()
    assert drift.answer is Answer.PASSES and drift.why.startswith("another fault: phase is 'python'")
    assert drift.why.endswith(WITHOUT_CODE)
    assert drift.other is not None and (drift.other.phase, drift.other.klass) == ("python", "RuntimeError")
    checks.tighten_after(drift)
    assert checks.tightened == ("kernels must hold the instruction",)
    assert judged(test, HARMLESS) == Verdict(Answer.PASSES, "another fault: no UTMALDG in its kernels")
    assert judged(test, REPRO).faults and test.cold.settle(test.candidate(REPRO)).faults
    assert judged(test, ALIGNED).faults, "its kernel holds the instruction"


def test_the_width_of_a_misaligned_access_is_in_the_code_too(guarded: Guarded, test: TieredTest) -> None:
    """Nothing sees such a fault without a GPU: what the instruments say is made up here, the code is not."""
    narrow = REPRO.replace("tl.exp(", "tl.abs(").replace(
        '"cuda"), torch.zeros(1,', '"cuda"), torch.zeros(1, dtype=torch.int8,'
    )
    seen = Fault("device", "misaligned address", "kernel", 716, instruction="STG", space="global", access="write")
    checks = guarded(examine=lambda text: replace(seen, size=1 if text == narrow else 4))
    drift = checks.fingerprint_verdict(program(narrow)).result()
    assert drift.why == f"another fault: the access is 1 byte wide instead of 4{WITHOUT_CODE}"
    checks.tighten_after(drift)
    assert judged(test, narrow) == Verdict(Answer.PASSES, "another fault: no STG of 4 bytes in its kernels")
    assert judged(test, REPRO).faults


def test_on_a_gpu_the_code_is_asked_for_from_the_beginning(guarded: Guarded, test: TieredTest) -> None:
    """What the instruments say, and that there is a GPU, is made up; the code is not."""
    checks = guarded(examine=lambda text: STORE, known=STORE)
    assert checks.tightened == () and judged(test, REPRO).faults
    narrow = REPRO.replace('"cuda"), torch.zeros(1,', '"cuda"), torch.zeros(1, dtype=torch.int8,')
    assert judged(test, narrow.replace("tl.exp(", "tl.abs(")) == lacks(
        "another fault: no STG of 4 bytes in its kernels"
    )
    assert tightening(test).refute(HARMLESS, passing()) is None, "no kernel, no code"


def on_a_gpu(plan: Plan, test: TieredTest) -> SlippageChecks:
    """Nothing sees such a fault without a GPU: that there is one, and what the instruments say, is made up here."""
    controls = Controls(lambda text, way: plan.reference, plan.oracle, reference=plan.reference)
    return checked(test, controls, examine=lambda text: STORE, known=STORE)


@pytest.mark.parametrize("made", [True, False])
def test_dry_runs_deliver_machine_code_to_lanes_and_make_none_for_it(
    plan: Plan, monkeypatch: pytest.MonkeyPatch, made: bool
) -> None:
    delivered, dry = list[bool](), plan.pool.serving(plan.pool.script, seconds=60.0)
    test = TieredTest(plan.oracle, plan.pool, dry=dry, policy=Policy(predicts=True, machine_code=made))
    checks, run = on_a_gpu(plan, test), dry.run

    def watched(source: str, **how: Any) -> Run:
        found = run(source, **how)
        delivered.append("cubin" in found.compiles[0].ir)
        return found

    monkeypatch.setattr(dry, "run", watched)
    try:
        assert judged(test, REPRO).credit
        test.forget()  # each dry run that shows the fault goes on to a lane from now on
        assert judged(test, REPRO).faults
        assert delivered == [made, True]
    finally:
        test.close()
        checks.close()


def test_the_code_is_listed_beside_the_lane_by_what_the_dry_run_compiled(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = TieredTest(plan.oracle, plan.pool, dry=plan.pool.serving(plan.pool.script, seconds=60.0))
    begun: list[Run] = []
    begin, in_lane = InstructionCheck.begin, test.lane.run
    monkeypatch.setattr(InstructionCheck, "begin", lambda self, run: (begun.append(run), begin(self, run)))
    checks = on_a_gpu(plan, test)

    def lane(candidate: Candidate, fresh: bool) -> tuple[Verdict, Run]:
        assert [one.hash for run in begun for one in run.compiles] == [*checks.code._codes], (
            "begun before the lane runs"
        )
        return in_lane(candidate, fresh)

    monkeypatch.setattr(test.lane, "run", lane)
    try:
        assert judged(test, REPRO).faults
        (compiled,) = {one.hash for one in plan.reference.compiles}
        assert begun and holds(checks.code._codes[compiled].result(), "STG", 4)
    finally:
        test.close()
        checks.close()


def test_where_it_does_not_the_everyday_test_stays_as_it_is(guarded: Guarded, test: TieredTest, look: Look) -> None:
    checks = guarded(examine=look)
    drift = checks.fingerprint_verdict(program(ALIGNED)).result()
    assert drift.answer is Answer.PASSES and not drift.why.endswith(WITHOUT_CODE)
    checks.tighten_after(drift)
    assert checks.tightened == () and not tightening(test).checks


def test_a_second_drift_adds_a_check_and_takes_none_away(guarded: Guarded, test: TieredTest, look: Look) -> None:
    plays = Plays(("other = 1\n", CALM))
    checks = guarded(standard=(CALM,), controls=plays.controls, examine=look)
    by_code, by_control = lacks(f"another fault{WITHOUT_CODE}"), lacks(f"{CONTROLLED}CALM=1 still faults")
    checks.tighten_after(by_code)
    checks.tighten_after(by_control)
    assert tightening(test).refute(HARMLESS, passing()) == lacks("another fault: no UTMALDG in its kernels")
    checks.tighten_after(by_control)
    checks.tighten_after(by_code)
    assert checks.tightened == (
        "kernels must hold the instruction",
        "each candidate that faults is tried under all controls",
    ), "code that was asked for and did not tell them apart is not asked for again"


STICKY = Fault("device", "misaligned address", "kernel", 716)
SEEN = replace(STICKY, instruction="UTMALDG", space="shared")


def held(outcome: ControlOutcome, name: str = "num_stages=1") -> ControlResult:
    return ControlResult(control(name), outcome, "")


@pytest.mark.parametrize(
    ("evidence", "told"),
    [
        (
            FaultComparison(SEEN, SEEN, "", (), (held(ControlOutcome.PASSES),)),
            "same fault: by the instruments (UTMALDG, shared memory); under controls: num_stages=1 passes",
        ),
        (
            FaultComparison(SEEN, SEEN, "", (), (held(ControlOutcome.PASSES, "serial"), held(ControlOutcome.FAULTS))),
            "NOT the same fault: the control num_stages=1 makes the original pass, not the repro",
        ),
        (
            FaultComparison(SEEN, None, "", (), (held(ControlOutcome.NOT_APPLICABLE),)),
            "the same symptoms, and no cause or control behind them: by class and message, in each accepted step; not "
            "known: the instruments told the instruction of the original's fault, and not that of the repro's; not "
            "known: num_stages=1 is not applicable to the repro",
        ),
        (
            FaultComparison(STICKY, None, "", (held(ControlOutcome.FAULTS),), ()),
            "the same symptoms, and no cause or control behind them: by class and message, in each accepted step; not "
            "known: no control makes the original pass",
        ),
        (
            FaultComparison(STICKY, None, "", (), (), "missing mask"),
            "same fault: by class and message, in each accepted step; by where it begins (missing mask); not known: no "
            "control makes the original pass",
        ),
        (
            FaultComparison(None, None, "", (), (), "division by zero"),
            "same fault: by where it begins (division by zero)",
        ),
        (
            FaultComparison(None, None, "", (), (held(ControlOutcome.PASSES),), compilers=True),
            "same fault: by both figures, the kernel's operations and the options of its launch; under controls: "
            "num_stages=1 passes",
        ),
        (
            FaultComparison(None, None, "", (), (), "division by zero", HOST),
            "same fault: by where it begins (division by zero); not known: what the host does to make the "
            "value may be gone; see that the fix of the original mends the repro",
        ),
        (FaultComparison(SEEN, STICKY, "the class is another", (), ()), "NOT the same fault: the class is another"),
    ],
)
def test_what_is_told_of_the_evidence(evidence: FaultComparison, told: str) -> None:
    assert evidence.summary() == told


def test_each_program_is_looked_at_once(guarded: Guarded) -> None:
    asked: list[str] = []
    checks = guarded(examine=lambda text: asked.append(text))
    verdicts = [checks.fingerprint_verdict(program(HARMLESS)).result() for _ in range(3)]
    assert {verdict.answer for verdict in verdicts} == {Answer.UNKNOWN}, "no fault was seen in that run"
    assert sorted(asked) == sorted([REPRO, HARMLESS])


# What is dear, and what is decided by hand-made runs


class Plays:
    """Runs by program and way; a healthy one where nothing else is said."""

    def __init__(self, *faulting: tuple[str, Control]) -> None:
        self.faulting = {(text, control.name) for text, control in faulting}
        self.asked: list[tuple[str, str]] = []

    def __call__(self, source: str, way: KnobSetting) -> Run:
        self.asked.append((source, way.name))
        turned = dict.fromkeys(way.knobs, 1)
        return MISALIGNED if (source, way.name) in self.faulting else passing(turned=turned, launches=(JSD,))

    @property
    def controls(self) -> Controls:
        oracle = parse("misaligned address", folder=Path()).calibrate(MISALIGNED)
        return Controls(self, oracle, reference=MISALIGNED)


def test_a_fault_that_vanishes_when_launches_are_serialised_has_a_history(guarded: Guarded) -> None:
    assert guarded(standard=(STAGES, SERIAL), controls=Plays().controls).controls.history
    assert not guarded(standard=(STAGES, SERIAL), controls=Plays((REPRO, SERIAL)).controls).controls.history
    assert not guarded(standard=(STAGES,), controls=Plays().controls).controls.history


def test_the_control_that_the_search_waits_for_is_tried_before_the_others(guarded: Guarded) -> None:
    plays, told, waited = Plays(), threading.Event(), list[bool]()

    def run(text: str, way: KnobSetting) -> Run:
        if way == SERIAL.way:
            told.set()
        waited.append(told.wait(10))
        return plays(text, way)

    controls = Controls(run, plays.controls.oracle, reference=MISALIGNED)
    standard = (STAGES, WARPS, CALM, control("num_warps=1"), SERIAL)
    checks = guarded(standard=standard, controls=controls)
    assert checks.controls.history and [one.control for one in checks.controls.tried] == [*standard]
    assert all(waited)


def test_a_control_with_a_process_of_its_own_is_asked_with_the_fingerprints(guarded: Guarded, test: TieredTest) -> None:
    plays = Plays(("other = 1\n", CALM))
    checks = guarded(standard=(STAGES, CALM), controls=plays.controls)
    assert checks.takes_fingerprints
    assert checks.control_verdict(program("other = 1\n")).result().faults, "of the step only what is cheap is asked"
    drift = checks.fingerprint_verdict(program("other = 1\n")).result()
    assert drift.answer is Answer.PASSES and drift.why.startswith(f"{CONTROLLED}control CALM=1 still faults")
    assert checks.fingerprint_verdict(program("same = 1\n")).result().faults
    checks.tighten_after(drift)
    assert checks.tightened == ("each candidate that faults is tried under all controls",)
    refuted, same = (tightening(test).refute(f"{name} = 1\n", MISALIGNED) for name in ("other", "same"))
    assert refuted is not None and refuted.answer is Answer.PASSES and same is None


def test_one_that_the_user_named_is_asked_at_each_step(guarded: Guarded) -> None:
    plays = Plays(("other = 1\n", CALM))
    checks = guarded(chosen=(CALM,), standard=(STAGES, CALM), controls=plays.controls)
    assert checks.control_verdict(program("other = 1\n")).result().answer is Answer.PASSES
    assert plays.asked.count((REPRO, "CALM=1")) == 1, "named twice, tried once"


def test_a_flaky_fault_is_not_identified_on_the_way(plan: Plan) -> None:
    test = TieredTest(plan.oracle, plan.pool, policy=Policy(repeats=FlakyTest(Rate(9, 30), MISALIGNED)))
    checks = checked(test, Plays().controls, standard=(CALM,), examine=lambda _: None)
    try:
        assert checks.flaky and not checks.takes_fingerprints
    finally:
        test.close()
        checks.close()


def test_nothing_is_left_at_work(guarded: Guarded) -> None:
    def at_work() -> set[str]:
        return {thread.name for thread in threading.enumerate()} - before

    before = {thread.name for thread in threading.enumerate()}
    checks = guarded(standard=(STAGES, CALM), controls=Plays().controls, examine=lambda text: None)
    checks.control_verdict(program("x = 1")).result()
    checks.fingerprint_verdict(program("x = 1")).result()
    assert {name.partition("_")[0] for name in at_work()} >= {"controls", "guards", "instruments", "answers"}
    checks.close()
    assert not at_work()

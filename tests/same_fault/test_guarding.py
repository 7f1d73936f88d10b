"""Guards on real runs: the corpus repro on the virtual GPU, against programs that a weak oracle takes for the same."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

from shrinkray_gpu.calibration import Plan, make
from shrinkray_gpu.device.instruction import holds
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.evidence import examine
from shrinkray_gpu.judging.judge import Judge
from shrinkray_gpu.judging.repetition import Repeated
from shrinkray_gpu.oracle import Answer, Fault, Verdict, parse
from shrinkray_gpu.oracle.fault import Reference
from shrinkray_gpu.oracle.statistics import Rate
from shrinkray_gpu.oracle.verdict import lacks
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.runner import ways
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Script
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.runner.ways import Way
from shrinkray_gpu.same_fault.controls import Control, Controls, Outcome, Tried
from shrinkray_gpu.same_fault.guarding import CONTROLLED, WITHOUT_CODE, Evidence, Guards
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

ALIGNED = REPRO.replace("num_stages=3", "num_stages=1") + 'raise RuntimeError("the rows do not add up")\n'
"""The same error, and the instruction of the original's fault in its kernel: only a look at it tells them apart."""


def control(name: str) -> Control:
    return Control(name, ways.parse(name))


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
    plan = make(REPRO, script, setup, oracle=parse(WEAK, folder=folder), jobs=2, timeout=None, devices=())
    yield plan
    plan.close()


@pytest.fixture
def judge(plan: Plan) -> Iterator[Judge]:
    script = plan.pool.script
    judge = Judge(plan.oracle, plan.pool)
    yield judge
    judge.close()
    plan.pool.script = script  # a tightened test asks for more


Guarded = Callable[..., Guards]
Look = Callable[[str], "Fault | None"]


@pytest.fixture
def guarded(plan: Plan, judge: Judge) -> Iterator[Guarded]:
    """guarded(...): guards of the repro, with real controls; closed at the end."""
    made: list[Guards] = []

    def run(text: str, way: Way) -> Run:
        return plan.pool.run(text, way=way)

    def guards(**more: Any) -> Guards:
        more.setdefault("controls", Controls(run, plan.oracle, reference=plan.reference))
        made.append(Guards(program(REPRO), judge=judge, reference=Reference.of(plan.reference), **more))
        return made[-1]

    yield guards
    for one in made:
        one.close()


@pytest.fixture(scope="module")
def look(plan: Plan) -> Look:
    """The instruments; each program is shown to them once, since they take seconds."""
    return cache(partial(examine.fingerprint, script=plan.pool.script, setup=plan.pool.setup, seconds=60.0))


def program(text: str) -> Program:
    return Program.from_text(text)


# Controls on the original


def test_all_are_asked_at_once_and_waited_for_but_the_slowest(guarded: Guarded, plan: Plan) -> None:
    together, slow = threading.Barrier(2), threading.Event()

    def run(text: str, way: Way) -> Run:
        if way == INTERPRETER.way:
            slow.wait()
        else:
            together.wait()
        return plan.reference

    try:
        guards = guarded(standard=(STAGES, WARPS, INTERPRETER), first=Controls(run, plan.oracle))
        guards.settle()
        assert [future.done() for future in guards._tried] == [True, True, False]
    finally:
        slow.set()
    assert [one.outcome for one in guards.tried] == [Outcome.FAULTS] * 3


# Controls on accepted steps


def test_the_control_that_mends_the_original_must_mend_each_step(guarded: Guarded) -> None:
    guards = guarded(standard=(STAGES, WARPS))
    assert [(one.control.name, one.outcome) for one in guards.tried] == [
        ("num_stages=1", Outcome.PASSES),
        ("num_warps=2", Outcome.FAULTS),
    ]
    assert guards.active == (STAGES,)
    held = guards.guard(program(REPRO.replace("tl.exp(student.load([0, 0]))", "student.load([0, 0])"))).result()
    assert held.faults and "num_stages=1 passes" in held.why
    slipped = guards.guard(program(HARMLESS)).result()
    assert slipped.answer is Answer.PASSES and "num_stages=1 still faults: another cause" in slipped.why


def test_without_a_control_that_passes_there_is_nothing_to_hold_a_step_against(guarded: Guarded) -> None:
    guards = guarded(standard=(WARPS,))
    assert guards.guard(program(HARMLESS)).result().faults and not guards.active


def test_a_control_of_the_user_s_must_make_the_original_pass(guarded: Guarded) -> None:
    guarded(chosen=(STAGES,), standard=(WARPS,)).insist()
    with pytest.raises(UsageError, match="under the control num_warps=2 the original still shows the fault"):
        guarded(chosen=(STAGES, WARPS)).insist()


# The full fingerprint, and what follows from a drift


def test_the_fingerprint_of_the_repro_is_its_own(guarded: Guarded, look: Look) -> None:
    guards = guarded(standard=(STAGES,), examine=look)
    verdict = guards.identify(program(REPRO)).result()
    assert verdict.faults and "UTMALDG" in verdict.why
    evidence = guards.evidence(REPRO)
    assert evidence.original == evidence.repro and evidence.original is not None
    assert (evidence.original.instruction, evidence.original.space) == ("UTMALDG", "shared")
    assert evidence.difference == "" and [one.outcome for one in evidence.held] == [Outcome.PASSES]


def test_instruments_that_saw_no_instruction_in_the_repro_are_asked_once_more(guarded: Guarded, look: Look) -> None:
    fault = look(REPRO)
    assert fault is not None and fault.instruction
    answers = iter([fault, replace(fault, instruction="", space=""), fault])
    evidence = guarded(examine=lambda text: next(answers)).evidence(ALIGNED)
    assert evidence.repro == fault and "UTMALDG" in evidence.told()
    assert next(answers, None) is None


def test_where_the_code_tells_them_apart_each_candidate_is_asked_for_its_code(
    guarded: Guarded, judge: Judge, look: Look
) -> None:
    guards = guarded(examine=look)
    assert judge.judge(HARMLESS).faults, "the oracle is a weak one"
    drift = guards.identify(program(HARMLESS)).result()
    assert drift.answer is Answer.PASSES and drift.why.startswith("another fault: phase is 'python'")
    assert drift.why.endswith(WITHOUT_CODE)
    assert drift.other is not None and (drift.other.phase, drift.other.klass) == ("python", "RuntimeError")
    guards.drifted(drift)
    assert guards.tightened == ["kernels must hold the instruction"]
    assert judge.judge(HARMLESS) == Verdict(Answer.PASSES, "another fault: no UTMALDG in its kernels")
    assert judge.judge(REPRO).faults and judge.cold(REPRO).faults
    assert judge.judge(ALIGNED).faults, "its kernel holds the instruction"


def test_the_width_of_a_misaligned_access_is_in_the_code_too(guarded: Guarded, judge: Judge) -> None:
    """Nothing sees such a fault without a GPU: what the instruments say is made up here, the code is not."""
    narrow = REPRO.replace("tl.exp(", "tl.abs(").replace(
        '"cuda"), torch.zeros(1,', '"cuda"), torch.zeros(1, dtype=torch.int8,'
    )
    seen = Fault("device", "misaligned address", "kernel", 716, instruction="STG", space="global", access="write")
    guards = guarded(examine=lambda text: replace(seen, size=1 if text == narrow else 4))
    drift = guards.identify(program(narrow)).result()
    assert drift.why == f"another fault: the access is 1 byte wide instead of 4{WITHOUT_CODE}"
    guards.drifted(drift)
    assert judge.judge(narrow) == Verdict(Answer.PASSES, "another fault: no STG of 4 bytes in its kernels")
    assert judge.judge(REPRO).faults


def test_on_a_gpu_the_code_is_asked_for_from_the_beginning(
    guarded: Guarded, judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the instruments say, and that there is a GPU, is made up; the code is not."""
    seen = Fault("device", "misaligned address", "kernel", 716, instruction="STG", space="global", size=4)
    setup = judge.pool.setup
    monkeypatch.setattr(judge.pool, "setup", replace(setup, arch=None))
    guards = guarded(examine=lambda text: seen, known=seen)
    monkeypatch.setattr(judge.pool, "setup", setup)
    assert guards.tightened == [] and judge.judge(REPRO).faults
    narrow = REPRO.replace('"cuda"), torch.zeros(1,', '"cuda"), torch.zeros(1, dtype=torch.int8,')
    assert judge.judge(narrow.replace("tl.exp(", "tl.abs(")) == lacks("another fault: no STG of 4 bytes in its kernels")
    assert judge.check is not None and judge.check(HARMLESS, passing()) is None, "no kernel, no code"
    guards.close()
    assert judge.before_lane is None


def on_a_gpu(plan: Plan, judge: Judge, monkeypatch: pytest.MonkeyPatch) -> Guards:
    """Nothing sees such a fault without a GPU: that there is one, and what the instruments say, is made up here."""
    seen = Fault("device", "misaligned address", "kernel", 716, instruction="STG", space="global", size=4)
    real = plan.pool.setup
    monkeypatch.setattr(plan.pool, "setup", replace(real, arch=None))
    controls = Controls(lambda text, way: plan.reference, plan.oracle, reference=plan.reference)
    guards = Guards(
        program(REPRO), judge=judge, reference=None, controls=controls, examine=lambda text: seen, known=seen
    )
    monkeypatch.setattr(plan.pool, "setup", real)
    return guards


@pytest.mark.parametrize("made", [True, False])
def test_dry_runs_deliver_machine_code_to_lanes_and_make_none_for_it(
    plan: Plan, monkeypatch: pytest.MonkeyPatch, made: bool
) -> None:
    script, delivered = plan.pool.script, list[bool]()
    dry = plan.pool.serving(script, seconds=60.0)
    judge = Judge(plan.oracle, plan.pool, dry=dry, predicts=True, machine_code=made)
    guards, run = on_a_gpu(plan, judge, monkeypatch), dry.run

    def watched(source: str, **how: Any) -> Run:
        found = run(source, **how)
        delivered.append("cubin" in found.compiles[0].ir)
        return found

    monkeypatch.setattr(dry, "run", watched)
    try:
        assert judge.judge(REPRO).credit
        judge.forget()  # each dry run that shows the fault goes on to a lane from now on
        assert judge.judge(REPRO).faults
        assert delivered == [made, True]
    finally:
        guards.close()
        judge.close()
        plan.pool.script = script


def test_the_code_is_listed_beside_the_lane_by_what_the_dry_run_compiled(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = plan.pool.script
    judge = Judge(plan.oracle, plan.pool, dry=plan.pool.serving(script, seconds=60.0))
    guards = on_a_gpu(plan, judge, monkeypatch)
    begun: list[Run] = []
    begin, in_lane = judge.before_lane, judge._in_lane
    assert begin is not None

    def lane(source: str, fresh: bool) -> tuple[Verdict, Run]:
        assert [one.hash for run in begun for one in run.compiles] == [*guards._codes], "begun before the lane runs"
        return in_lane(source, fresh)

    monkeypatch.setattr(judge, "before_lane", lambda run: (begun.append(run), begin(run)))
    monkeypatch.setattr(judge, "_in_lane", lane)
    try:
        assert judge.judge(REPRO).faults
        (compiled,) = {one.hash for one in plan.reference.compiles}
        assert begun and holds(guards._codes[compiled].result(), "STG", 4)
    finally:
        guards.close()
        judge.close()
        plan.pool.script = script


def test_where_it_does_not_the_everyday_test_stays_as_it_is(guarded: Guarded, judge: Judge, look: Look) -> None:
    guards = guarded(examine=look)
    drift = guards.identify(program(ALIGNED)).result()
    assert drift.answer is Answer.PASSES and not drift.why.endswith(WITHOUT_CODE)
    guards.drifted(drift)
    assert guards.tightened == [] and judge.check is None


def test_a_second_drift_adds_a_check_and_takes_none_away(guarded: Guarded, judge: Judge, look: Look) -> None:
    plays = Plays(("other = 1\n", CALM))
    guards = guarded(standard=(CALM,), controls=plays.controls, examine=look)
    by_code, by_control = lacks(f"another fault{WITHOUT_CODE}"), lacks(f"{CONTROLLED}CALM=1 still faults")
    guards.drifted(by_code)
    guards.drifted(by_control)
    assert judge.check is not None
    assert judge.check(HARMLESS, passing()) == lacks("another fault: no UTMALDG in its kernels")
    guards.drifted(by_control)
    guards.drifted(by_code)
    assert guards.tightened == [
        "kernels must hold the instruction",
        "each candidate that faults is tried under all controls",
    ], "code that was asked for and did not tell them apart is not asked for again"


STICKY = Fault("device", "misaligned address", "kernel", 716)
SEEN = replace(STICKY, instruction="UTMALDG", space="shared")


def held(outcome: Outcome, name: str = "num_stages=1") -> Tried:
    return Tried(control(name), outcome, "")


@pytest.mark.parametrize(
    ("evidence", "told"),
    [
        (
            Evidence(SEEN, SEEN, "", (), (held(Outcome.PASSES),)),
            "same fault: by the instruments (UTMALDG, shared memory); under controls: num_stages=1 passes",
        ),
        (
            Evidence(SEEN, SEEN, "", (), (held(Outcome.PASSES, "serial"), held(Outcome.FAULTS))),
            "NOT the same fault: the control num_stages=1 makes the original pass, not the repro",
        ),
        (
            Evidence(SEEN, None, "", (), (held(Outcome.NOT_APPLICABLE),)),
            "same fault: by class and message, in each accepted step; not known: the instruments told the instruction "
            "of the original's fault, and not that of the repro's; not known: num_stages=1 is not applicable to the "
            "repro",
        ),
        (
            Evidence(STICKY, None, "", (held(Outcome.FAULTS),), ()),
            "same fault: by class and message, in each accepted step; not known: no control makes the original pass",
        ),
        (Evidence(SEEN, STICKY, "the class is another", (), ()), "NOT the same fault: the class is another"),
    ],
)
def test_what_is_told_of_the_evidence(evidence: Evidence, told: str) -> None:
    assert evidence.told() == told


def test_each_program_is_looked_at_once(guarded: Guarded) -> None:
    asked: list[str] = []
    guards = guarded(examine=lambda text: asked.append(text))
    verdicts = [guards.identify(program(HARMLESS)).result() for _ in range(3)]
    assert {verdict.answer for verdict in verdicts} == {Answer.UNKNOWN}, "no fault was seen in that run"
    assert sorted(asked) == sorted([REPRO, HARMLESS])


# What is dear, and what is decided by hand-made runs


class Plays:
    """Runs by program and way; a healthy one where nothing else is said."""

    def __init__(self, *faulting: tuple[str, Control]) -> None:
        self.faulting = {(text, control.name) for text, control in faulting}
        self.asked: list[tuple[str, str]] = []

    def __call__(self, source: str, way: Way) -> Run:
        self.asked.append((source, way.name))
        turned = dict.fromkeys(way.knobs, 1)
        return MISALIGNED if (source, way.name) in self.faulting else passing(turned=turned, launches=(JSD,))

    @property
    def controls(self) -> Controls:
        oracle = parse("misaligned address", folder=Path()).calibrate(MISALIGNED)
        return Controls(self, oracle, reference=MISALIGNED)


def test_a_fault_that_vanishes_when_launches_are_serialised_has_a_history(guarded: Guarded) -> None:
    assert guarded(standard=(STAGES, SERIAL), controls=Plays().controls).history
    assert not guarded(standard=(STAGES, SERIAL), controls=Plays((REPRO, SERIAL)).controls).history
    assert not guarded(standard=(STAGES,), controls=Plays().controls).history


def test_a_control_with_a_process_of_its_own_is_asked_with_the_fingerprints(guarded: Guarded, judge: Judge) -> None:
    plays = Plays(("other = 1\n", CALM))
    guards = guarded(standard=(STAGES, CALM), controls=plays.controls)
    assert guards.identifies
    assert guards.guard(program("other = 1\n")).result().faults, "of the step only what is cheap is asked"
    drift = guards.identify(program("other = 1\n")).result()
    assert drift.answer is Answer.PASSES and drift.why.startswith(f"{CONTROLLED}control CALM=1 still faults")
    assert guards.identify(program("same = 1\n")).result().faults
    guards.drifted(drift)
    assert guards.tightened == ["each candidate that faults is tried under all controls"]
    assert judge.check is not None
    told = judge.check("other = 1\n", MISALIGNED)
    assert told is not None and told.answer is Answer.PASSES and judge.check("same = 1\n", MISALIGNED) is None


def test_one_that_the_user_named_is_asked_at_each_step(guarded: Guarded) -> None:
    plays = Plays(("other = 1\n", CALM))
    guards = guarded(chosen=(CALM,), standard=(STAGES, CALM), controls=plays.controls)
    assert guards.guard(program("other = 1\n")).result().answer is Answer.PASSES
    assert plays.asked.count((REPRO, "CALM=1")) == 1, "named twice, tried once"


def test_a_flaky_fault_is_not_identified_on_the_way(plan: Plan) -> None:
    judge = Judge(plan.oracle, plan.pool, repeats=Repeated(Rate(9, 30), MISALIGNED))
    guards = Guards(
        program(REPRO), judge=judge, reference=None, controls=Plays().controls, standard=(CALM,), examine=lambda _: None
    )
    try:
        assert guards.flaky and not guards.identifies
    finally:
        guards.close()
        judge.close()


def test_nothing_is_left_at_work(guarded: Guarded) -> None:
    def at_work() -> set[str]:
        return {thread.name for thread in threading.enumerate()} - before

    before = {thread.name for thread in threading.enumerate()}
    guards = guarded(standard=(STAGES, CALM), controls=Plays().controls, examine=lambda text: None)
    guards.guard(program("x = 1")).result()
    guards.identify(program("x = 1")).result()
    assert {name.partition("_")[0] for name in at_work()} >= {"controls", "guards", "instruments", "answers"}
    guards.close()
    assert not at_work()

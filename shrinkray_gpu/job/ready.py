"""All that a search needs, made ready: the program to begin with, its plan, its test, its slippage checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from shrinkray_gpu import calibration
from shrinkray_gpu.calibration import perturbation
from shrinkray_gpu.calibration.standing import lanes_that_fit
from shrinkray_gpu.device import gpus
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.evidence.dump_runs import dumping
from shrinkray_gpu.job.asked import adopting, builds_cuda, gpus_of, limits_of
from shrinkray_gpu.job.fault_checks import slippage_checks
from shrinkray_gpu.judging.policy import Policy
from shrinkray_gpu.judging.repetition import FlakyTest
from shrinkray_gpu.judging.tiered_test import TieredTest
from shrinkray_gpu.options import Options, Say, display_name, jobs_of
from shrinkray_gpu.oracle import Fault, Oracle
from shrinkray_gpu.oracle.hang import DEVICE
from shrinkray_gpu.oracle.needs import UNASKED
from shrinkray_gpu.passes.layout.layout import layout
from shrinkray_gpu.reduction.extent import Extent
from shrinkray_gpu.reduction.journal import Journal
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.size import lines
from shrinkray_gpu.result.summary import findings
from shrinkray_gpu.runner import compiler
from shrinkray_gpu.runner.gpu_groups import GpuGroups
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Script
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.same_fault import controls
from shrinkray_gpu.same_fault.checkpoints import Checkpoints
from shrinkray_gpu.same_fault.slippage_checks import SlippageChecks
from shrinkray_gpu.source.libraries import is_plain, names_libraries
from shrinkray_gpu.start import Start, UserProgram, without
from shrinkray_gpu.start.argument_slice import without_marks
from shrinkray_gpu.start.choice import from_elsewhere
from shrinkray_gpu.start.refused_slice import made_gates
from shrinkray_gpu.start.several_gpus import on_groups
from shrinkray_gpu.start.unread_values import with_unread_kept, without_unread_marks

BRIEF = 1.0
"""Seconds after its last launch for which a lane is waited for that most likely hangs."""
LONG = 3.0
"""Limits from which on that is worth it."""
HANGING = 8
"""Lanes of a GPU of which each may hold a kernel that never ends: its time is shared out among them."""


def user_program(
    path: Path, program: Program, options: Options, chosen: Oracle | None, setup: Setup, say: Say
) -> UserProgram:
    """The program, and how the user runs it. Raises UsageError where it builds CUDA C++, which cannot be done here."""
    if builds_cuda(program, options, chosen):
        compiler.check(options.python, setup.environment, options.arch)
    script = Script(
        path.absolute(),
        argv=options.argv,
        cwd=(options.cwd or Path.cwd()).absolute(),
        name=display_name(path, options) if options.command else "",
        original=program.text,
    )
    needs = chosen.needs if chosen is not None else UNASKED
    names, setup = gpus_of(options, setup, say)
    return UserProgram(
        program,
        needs.on(script, virtual=options.arch is not None),
        replace(setup, plain=is_plain(program) and not names_libraries(program)),
        chosen,
        adopting=lambda run: adopting(run, options, Path.cwd(), say),
        limits=replace(limits_of(options), groups=GpuGroups(say=say)),
        gpus=names,
        keep=options.keep,
        as_it_is="lift" in options.skip or bool(options.control_patches),
        look=_look(setup, options) if options.guards else None,
        dumping=dumping(setup) if options.guards else None,
        ways=controls.dear_settings(setup.arch is None and gpus.present()) if options.guards else (),
        command=options.command,
    )


def _look(setup: Setup, options: Options) -> Callable[[str, Script, Run], Fault | None] | None:
    """What the instruments say of a program, before there is a plan; None where there is no GPU to ask, nor --arch."""
    if setup.arch is None and not gpus.present():
        return None
    return Checkpoints(setup, options.timeout or calibration.PATIENCE).fault


@dataclass(frozen=True)
class Ready:
    """All that a search needs."""

    start: Start
    program: Program
    """To be reduced: the one to begin with, made to show a flaky fault more often if something does that."""
    plan: calibration.Plan
    test: TieredTest
    checks: SlippageChecks | None
    most: Extent
    """No result has more: what the user gave, with the modules of its own that are in the program to begin with."""

    @property
    def clean_runs_alone(self) -> bool:
        """Whether nothing may go on beside the clean runs at the end. Where chance has a part in the fault, that would
        change their rate. Where time has, they would slow down what must end under a control."""
        return self.plan.rate is not None or self.plan.oracle.needs.timing

    def laid_out(self, text: str) -> str:
        """A text set as a person would have written it."""
        return layout(text, most=self.most.lines)

    def shown(self, text: str) -> str:
        """A text for its reader, without marks of ours; where the start is ours, all are. Then lines are wrapped."""
        bare = without_unread_marks(text)
        bare = without_marks(bare) if self.start.lifted else bare
        return text if bare == text else self.laid_out(bare)

    def close(self) -> None:
        self.test.close()
        if self.checks:
            self.checks.close()
        self.plan.close()


def prepare(
    start: Start,
    given: UserProgram,
    named: Sequence[controls.Control],
    options: Options,
    journal: Journal,
    say: Say,
) -> Ready:
    """Calibrate and set the checks up; with the user's own program, where a lifted one will not do after all."""
    say("calibrating: how candidates may run, and how often the fault shows ...")
    if start.told:
        say(start.told)
    placed, start = on_groups(given, start, say)
    plan = placed.plan(start)
    if start.alone and plan.rate is not None and not start.bare:
        plan.close()
        why = f"the launch alone shows the fault in some runs only ({plan.rate})"
        return prepare(without(start, given, why, journal, say), given, named, options, journal, say)
    plan = _perturbed(plan, start.program, journal)
    repeats = FlakyTest(plan.rate, plan.reference, confidence=options.confidence) if plan.rate else None
    brief = BRIEF if options.credit and _told_soon(plan) else 0.0
    if brief:
        plan = _shared(plan, jobs_of(options))
    policy = Policy(
        predicts=plan.predicts,
        excludes=plan.excludes,
        credit=options.credit and not start.history,
        repeats=repeats,
        brief=brief,
        machine_code=plan.mode.machine_code,
        peak=plan.mode.peak,
    )
    test = TieredTest(plan.oracle, plan.pool, dry=plan.dry, policy=policy, tries=start.tries)
    variant = plan.mode.variant
    program = (
        start.program.with_text(perturbation.apply_perturbation(variant, start.program.text))
        if variant
        else start.program
    )
    if options.guards and plan.oracle.needs.compared:
        program = program.with_text(with_unread_kept(program.text))
    ready = Ready(start, program, plan, test, None, most_of(start, given))
    try:
        for line in findings(plan, start.reference):
            say(line)
        if options.guards and plan.oracle.needs.run:
            gates = _gates(start, given)
            ready = replace(ready, checks=slippage_checks(program, plan, test, named, options, start.fault, gates))
            _insist(ready, say)
    except UsageError as error:
        ready.close()
        if not start.lifted:
            raise
        return prepare(without(start, given, str(error), journal, say), given, named, options, journal, say)
    except BaseException:
        ready.close()
        raise
    return ready


def _gates(start: Start, given: UserProgram) -> list[str]:
    """The switches of the user's own program that lead to what the compiler refuses, where a launch alone has them as
    literals."""
    seen = start.reference
    return made_gates(given.program.text, seen) if start.alone and seen is not None else []


def most_of(start: Start, given: UserProgram) -> Extent:
    """A driver of ours says nothing of the size of a command; nor does a program of what it imports or writes. Of its
    lines those of the program laid out count, since no result crowds a kernel into one line."""
    elsewhere = start.lifted and (start.merged or from_elsewhere(start.program, given.program))
    program = start.program if elsewhere or given.command is not None else given.program
    return Extent(program.extent.tokens, max(program.extent.lines, lines(layout(program.text))))


def _told_soon(plan: calibration.Plan) -> bool:
    """Whether a kernel hangs, each time, in lanes that would wait long to be sure of it."""
    lanes = plan.gpu and plan.mode.name in ("warm", "fork") and plan.pool.seconds >= LONG
    return lanes and plan.reference.hanging == DEVICE and plan.rate is None


def _shared(plan: calibration.Plan, jobs: int) -> calibration.Plan:
    """Where time is the question a try has the GPU to itself; not where what it tells is confirmed later."""
    mode = plan.mode
    terms = replace(mode.terms, jobs=lanes_that_fit(plan.pool, min(jobs, HANGING * len(plan.pool.groups))))
    dry = replace(mode.dry, terms=replace(mode.dry.terms, jobs=jobs)) if mode.dry is not None else None
    return plan.in_mode(replace(mode, terms=terms, dry=dry))


def _insist(ready: Ready, say: Say) -> None:
    """Wait for the controls that the user named, and for the one that tells whether launches must overlap. Where time
    is the question, for all that would take some of it from the first candidates."""
    assert ready.checks is not None
    active = ready.checks.controls
    active.insist()
    if ready.plan.oracle.needs.timing:
        active.settle()
    if active.history:
        ready.test.forget()
        say("the fault vanishes when launches are serialised: no verdict is taken on credit")


def _perturbed(plan: calibration.Plan, program: Program, journal: Journal) -> calibration.Plan:
    """A flaky fault made likelier, if something does so; the same thing in a resumed reduction."""
    known = journal.recall_perturbation()
    if known == {}:  # nothing did
        return plan
    plan = calibration.with_perturbation(plan, program.text, perturbation.Perturbation(**known) if known else None)
    if plan.rate and known is None:
        journal.record_perturbation(asdict(plan.mode.variant) if plan.mode.variant else {})
    return plan

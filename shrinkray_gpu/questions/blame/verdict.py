"""The verdict on a fault, by its phase: who is asked, and what is not known where nobody tells."""

from __future__ import annotations

import re
from dataclasses import replace

from shrinkray_gpu.evidence.evidence import Evidence
from shrinkray_gpu.evidence.source_places import folders_of, is_of_triton
from shrinkray_gpu.evidence.source_text import name_below
from shrinkray_gpu.oracle import speech
from shrinkray_gpu.oracle.cause_check import faulting_launch
from shrinkray_gpu.oracle.driver_error import OUTSIDE, static_rule
from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.questions.blame.blame import BELOW, DEVICE, HOST, KERNEL, UNKNOWN, Blame, unknown
from shrinkray_gpu.questions.blame.of_cause import BY_IR, of_cause
from shrinkray_gpu.questions.blame.of_compiler import OTHER_TRITON, REDUCE, of_compiler
from shrinkray_gpu.questions.blame.trials import BlameTrials
from shrinkray_gpu.questions.blame.way import installed_in, raised_at, way
from shrinkray_gpu.runner.inside.static import tma
from shrinkray_gpu.runner.pool import Script
from shrinkray_gpu.runner.run import Run

BROKEN_DEVICE = frozenset({214, 220, 226, 999})
"""Errors of the device itself: ECC, NVLink, and what the driver calls unknown."""
_ITS_OWN = re.compile(r"INTERNAL ASSERT|internal error|report (?:a|this) bug", re.IGNORECASE)
"""What a library says of a bug of its own."""
NEXT = (REDUCE, OTHER_TRITON)
GENERATED = "torch.compile generated the launch: whether that or the program is wrong is not told"
EAGER = '`torch.compile(..., backend="eager")` runs the program without generated code'
NO_ARCH = "Triton's IR was not followed: name the GPU by --arch, such as sm_90"


def blame(seen: Evidence, trials: BlameTrials) -> Blame:
    """Whose fault it is that the program shows, and how it came to it."""
    told = _blame(seen, trials)
    if trials.was_cut({HOST: "in_kernel", KERNEL: "on_host"}.get(told.whose, "")):
        why = f"{told.why}. Whether a change elsewhere would be enough, too, is not told: the time for that was over"
        told = replace(told, whose=UNKNOWN, why=why)
    if told.of_program and _is_generated(trials.followed or trials.seen):
        told = unknown(f"{told.why}. {GENERATED}", EAGER)
    return replace(told, place=trials.as_found(told.place), reached=way(trials.seen, trials.script))


def _is_generated(run: Run) -> bool:
    """Whether the kernel at fault is in code that torch.compile generated."""
    broken = faulting_launch(run)
    failed = [each for each in run.compiles if each.failure is not None]
    return broken.generated if broken is not None else bool(failed) and failed[-1].generated


def _blame(seen: Evidence, trials: BlameTrials) -> Blame:
    fault, run = seen.fault, trials.seen
    if fault is None:
        broken = faulting_launch(run)
        return of_cause(broken.causes[0], broken, trials) if broken else unknown("the run itself shows no fault")
    if fault.phase == "compile" or fault.phase == "exit" and run.signal is not None:
        return of_compiler(seen, fault, trials)
    if fault.phase == "device":
        return _of_device(seen, fault, trials)
    if fault.phase == "launch":
        return _of_launch(seen, fault, trials)
    if fault.phase == "python":
        return _of_host(seen, fault, run, trials.script)
    return unknown(f"{speech.ending(run)}, and nobody follows why", REDUCE)


def _of_device(seen: Evidence, fault: Fault, trials: BlameTrials) -> Blame:
    if fault.code in BROKEN_DEVICE:
        return Blame(DEVICE, f"the driver reports {fault.klass}", "the driver")
    run = trials.followed
    if run is None:
        return unknown(NO_ARCH, *NEXT)
    for launch in run.launches:
        rule = static_rule(launch)
        if rule is not None and rule.name == tma.NAME and tma.DESCRIBED not in launch.fault:
            found = launch.fault.removeprefix(f"{rule.name}: ")
            why = f"{found}: where a copy lies in shared memory is the compiler's choice"
            return Blame(BELOW, why, f"the static rule {rule.name}", next=NEXT)
    broken = faulting_launch(run)
    if broken is not None:
        if fault.kernel and not trials.seen.virtual and fault.kernel != broken.kernel:
            why = f"by Triton's IR something goes wrong in {broken.kernel}"
            return unknown(f"the fault is in {fault.kernel}, and {why}: {broken.causes[0].sentence}")
        return of_cause(broken.causes[0], broken, trials)
    undecided = next((each for each in run.launches if each.unfollowed), None)
    if undecided is not None:
        return unknown(f"not all of {undecided.kernel} could be followed: {undecided.unfollowed}", *NEXT)
    if fault.code in OUTSIDE and run.launches:
        why = f"in all {len(run.launches)} launches each access stays inside of its tensor"
        return Blame(BELOW, why, BY_IR, next=NEXT)
    return unknown(
        f"Triton's IR does not tell of {fault.klass!r}: only bounds, assertions and divisions are followed", *NEXT
    )


def _of_launch(seen: Evidence, fault: Fault, trials: BlameTrials) -> Blame:
    asked = seen.options.get("num_stages")
    stages = asked if isinstance(asked, int) else 0
    if "shared memory" in fault.text and stages > 3 and trials.passes_with("num_stages=1"):
        why = f"{fault.text}: the launch asks for {stages} stages"
        enough = "num_stages=1 of the launch: it ends well then"
        return Blame(HOST, why, "a run with other stages", _launching(trials.seen, trials.script), enough=enough)
    if "shared memory" in fault.text:
        return unknown(f"{fault.text}. Whether its tiles, its stages or the compiler take too much is not told", REDUCE)
    return unknown(f"the launch is refused: {fault.klass}", REDUCE)


def _launching(run: Run, script: Script) -> str:
    """The line of the host that makes the launch which is refused; Triton's own lines are below it."""
    places = speech.frames(run.failure.traceback) if run.failure is not None else []
    own = [place for place in places if not is_of_triton(place.file)]
    return f"{name_below(own[-1].file, folders_of(script))}:{own[-1].line}" if own else ""


def _of_host(seen: Evidence, fault: Fault, run: Run, script: Script) -> Blame:
    at = raised_at(run, script) or (str(seen.place) if seen.place is not None else "")
    if fault.child:
        return unknown(f"a child process died: {fault.child}")
    if run.launches:
        why = f"{fault.klass} after {len(run.launches)} launches, whose results it may hang on"
        return unknown(why, "`--oracle differs:num_stages=1` asks whether a kernel computes something else")
    if not at or fault.klass == "AssertionError":
        return unknown(f"{fault.klass}: {fault.text}")
    if _ITS_OWN.search(fault.text):
        return unknown(f"{fault.klass}: {fault.text}. By these words the library itself is at fault")
    if library := installed_in(run):
        why = f"It is raised in {library}: whether that or what the program asks of it is wrong is not told"
        return unknown(f"{fault.klass}: {fault.text}. {why}")
    return Blame(HOST, f"{fault.klass}: {fault.text}", "Python", at)

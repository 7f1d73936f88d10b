"""The program does not show the fault: what it did instead, and what to do about it."""

from __future__ import annotations

import errno
import os
import shlex
from collections.abc import Sequence

from shrinkray_gpu.calibration.worker_lanes import PATIENCE
from shrinkray_gpu.errors import NotReproduced, ShrinkError, UsageError
from shrinkray_gpu.oracle import Fault, Oracle, adopt, beside_kernels, describe, nearest, obstacle, swallowed, typed
from shrinkray_gpu.oracle.verdict import Answer, Verdict
from shrinkray_gpu.runner.fence import advice, refused
from shrinkray_gpu.runner.inside.static import rules
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import Script
from shrinkray_gpu.runner.run import Run

OFFERED = 3
"""Failures that a program caught, named to its user."""
SANITIZED = {"bounds": "sanitizer:memcheck", "uninitialised": "sanitizer:initcheck"}
"""What sees on a GPU what a static rule tells."""
EXACT = "PYTORCH_NO_CUDA_MEMORY_CACHING=1"
"""Else what lies behind a tensor is torch's own, and the sanitizer does not object."""


def is_clean(run: Run) -> bool:
    return not run.trouble and Fault.of(run) is None


def rule_broken(run: Run, arch: int | None = None) -> str:
    """What a static rule says of the first launch that breaks one, and how to ask for that; empty where none does.
    `arch`: of the GPU at hand, where the run is of a virtual one."""
    broken = next((launch for launch in run.launches if launch.fault), None)
    if broken is None:
        return ""
    rule, reason = rules.of_fault(broken.fault)
    advice = f"ask for that with {f'--arch sm_{arch} ' if arch else ''}--oracle static:{rule.name}"
    if arch and rule.name in SANITIZED:
        advice += f", or on this GPU with --oracle {SANITIZED[rule.name]} --env {EXACT}"
    if not broken.synced:
        advice = f"nothing waits for the device afterwards: end with torch.cuda.synchronize(), and {advice}"
    return f"But the launch of {broken.kernel} breaks the static rule {rule.name} ({rule.words}): {reason}; {advice}"


def refuse(oracle: Oracle, run: Run, script: Script) -> None:
    """Raises UsageError where what the run shows leaves nothing to ask, however often it is made."""
    if why := oracle.refusal(run):
        raise UsageError(f"{script.called}: {why}")


def explain(
    seen: Sequence[Run],
    verdict: Verdict,
    oracle: Oracle,
    setup: Setup,
    script: Script,
    timeout: float | None,
    beside: str = "",
) -> ShrinkError:
    """What happened instead, and what to do about it. `beside`: what the static rules say that the oracle does not ask
    for. Raises OSError where the disk is full: that is no fault of the program's, and compiled kernels go to the folder
    of the reduction."""
    run = next((run for run in seen if not is_clean(run)), seen[0])
    if said := obstacle(run):
        return UsageError(f"{script.called} does not run in {setup.python}. {said}")
    if run.timed_out and not oracle.needs.timing:
        after = f"{timeout:g} s (--timeout)" if timeout else f"{PATIENCE:g} s"
        return NotReproduced(
            f"{script.called} was still running after {after}: give a longer --timeout, or look for the hang itself "
            "with --oracle timeout"
        )
    if run.timed_out and oracle.needs.seconds and verdict.is_known:
        return NotReproduced(f"{script.called} does not show {typed(oracle.spec)}: {verdict.why}")
    if run.failure is not None and (full := os.strerror(errno.ENOSPC)) in run.failure.text:
        raise OSError(errno.ENOSPC, f"{full}, as the program said, too", setup.scratch)
    if verdict.answer is Answer.UNKNOWN:
        nothing = f"the run of {script.called} answers nothing: {verdict.why or run.trouble}"
        return NotReproduced("\n  ".join(filter(None, [nothing, beside])))
    near = nearest(run, oracle.spec)
    if fenced := advice(refused(run, script.cwd)):
        return NotReproduced(f"{script.called} does not show {typed(oracle.spec)}: {fenced}")
    more = [beside] * bool(beside)
    more += [f"would have matched: --oracle {shlex.quote(spec)}" for spec in near[:1]]
    more += [oracle.hint] * bool(oracle.hint)
    runs = f" in {len(seen)} runs" if len(seen) > 1 else ""
    return NotReproduced(
        "\n  ".join([f"{script.called} does not show {typed(oracle.spec)}{runs}. {describe(run, oracle.spec)}", *more])
    )


def adoptable_spec(run: Run) -> str:
    """The SPEC of the fault seen. Raises UsageError for a broken set-up, NotReproduced when it just passes."""
    spec = adopt(run)
    if spec is None and (why := obstacle(run) or beside_kernels(run)):
        raise UsageError(why)
    if spec is None:
        raise NotReproduced(faultless([run]))
    return spec


def faultless(seen: Sequence[Run], beside: str = "") -> str:
    """What a program does that shows no fault, and what to do about it. `beside`: as in `explain`."""
    runs = f" in each of {len(seen)} runs" if len(seen) > 1 else ""
    if caught := [shlex.quote(spec) for spec in swallowed(seen[-1])[:OFFERED]]:
        return (
            f"the program ends well{runs}, and no --oracle says what to look for. It caught failures that may be asked "
            f"for: --oracle {', or --oracle '.join(caught)}"
        )
    if broken := rule_broken(seen[-1]) or beside:
        return f"the program ends without a fault{runs}. {broken}"
    return (
        f"the program ends without a fault{runs}, and no --oracle says what "
        'to look for: name one, for example --oracle "misaligned address", ttgir:REGEX or script:./test.sh'
    )

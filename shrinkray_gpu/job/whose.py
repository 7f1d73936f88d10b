"""Whose fault it is, at the end of a reduction: the verdict on the user's own program, and what is known like it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from shrinkray_gpu.corpus.known import known
from shrinkray_gpu.errors import if_it_helps
from shrinkray_gpu.job.ready import Ready
from shrinkray_gpu.options import Say
from shrinkray_gpu.oracle import Fault
from shrinkray_gpu.questions.blame.blame import Blame
from shrinkray_gpu.questions.blame.in_brief import blame_in_brief
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.same_fault.fault_comparison import FaultComparison
from shrinkray_gpu.start import UserProgram


@dataclass(frozen=True)
class Whose:
    """What is told of that."""

    verdict: Mapping[str, str] = field(default_factory=dict)
    """Labels and facts: `verdict`, `reached`, `upstream`, `enough`; empty where nobody asked."""
    known: tuple[str, ...] = ()
    """Cases of a corpus with the same fingerprint, a sentence each."""


def blame_of(ready: Ready, given: UserProgram) -> Blame | None:
    """The verdict on the user's own program, from the run that showed its fault; None where there is none. Costs a few
    seconds, none of which has to do with the search."""
    run, pool = _seen(ready), ready.plan.pool
    if run is None:
        return None
    up = pool if pool.mode == "virtual" else None
    return blame_in_brief(given.program.text, given.script, given.setup, run, seconds=pool.seconds, up=up)


def whose(
    ready: Ready,
    comparison: FaultComparison | None,
    versions: Mapping[str, str],
    say: Say,
    ask: Callable[[], Blame | None],
) -> Whose:
    """What is told of the verdict that `ask` comes to, and of known faults like this one."""
    if (run := _seen(ready)) is None:
        return Whose()

    def asked() -> Whose:
        told = ask()
        assert told is not None
        fault = comparison.original if comparison is not None else Fault.of(run)
        alike = known(fault, versions.get("triton", "")) if fault is not None and not told.of_program else ()
        return Whose(told.brief(), alike)

    say("looking whose fault it is ...")
    return if_it_helps(asked, Whose(), "the verdict", say)


def _seen(ready: Ready) -> Run | None:
    return ready.start.reference or (None if ready.start.lifted else ready.plan.reference)

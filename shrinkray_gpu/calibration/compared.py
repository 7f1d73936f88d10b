"""Where a program fails a check of what its kernels wrote: that check, which each candidate is held against."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from shrinkray_gpu.calibration.absent import is_clean
from shrinkray_gpu.calibration.plan import Plan
from shrinkray_gpu.calibration.standing import lanes_that_fit
from shrinkray_gpu.calibration.worker_lanes import LaneSet, fitting
from shrinkray_gpu.errors import NoKernelInvolved, NotReproduced
from shrinkray_gpu.oracle import Oracle
from shrinkray_gpu.oracle.comparison_check import ComparisonCheck
from shrinkray_gpu.oracle.failed_check import failed_check, is_of_values
from shrinkray_gpu.oracle.same import SameFaultOracle
from shrinkray_gpu.runner.inside.compare.comparison import (
    AGAINST,
    BLAME,
    GOES_ON,
    KINDS,
    SAVE,
    UNSTEADY,
    UNWRITTEN,
)
from shrinkray_gpu.runner.inside.compare.inputs import INPUT
from shrinkray_gpu.runner.inside.compare.sides import BOTH, INSTEAD, PART, PROBE
from shrinkray_gpu.runner.knob_settings import KnobSetting, parse_setting
from shrinkray_gpu.runner.pool import Pool
from shrinkray_gpu.runner.run import Comparison, Run

SLOW = 30.0
"""Seconds of a cold run, of which the original gets only one to find that fraction."""
ALL = (*BOTH, INPUT, *INSTEAD)
"""What a run may be asked for, of the keys of `Comparison.moved`."""
SIZES = "its kernel is not asked with other sizes: the program ends in another way then"
NONE = "no check of tensors that a kernel wrote was seen to fail; name what the script says instead"
FRACTIONS = ("0.1", "0.001", "1e-5", "0")
"""Of the distance between the two sides of a check, tried until the original passes."""
OTHER = "the check that fails is another one from run to run, so candidates are not held against it"


def first_look(oracle: Oracle, source: str, seen: Sequence[Run], pool: Pool) -> Run | None:
    """The run that `with_comparison` begins with, of an oracle that is bound; None where it needs none."""
    if not (isinstance(oracle, SameFaultOracle) and seen and oracle.may_compare(seen[0], source)):
        return None
    return pool.cold(source, wants=(*oracle.needs.wants, *_asking((PART, PROBE), _recording(pool))))


def with_comparison(
    plan: Plan, source: str, lanes: LaneSet, *, candidates: bool = True, ahead: Future[Run | None] | None = None
) -> Plan:
    """The plan whose oracle asks that, where the script itself fails behind a launch, and values that a launch wrote
    come to what it checks; else the plan as it is. The original runs two times more in cold processes; and for
    `candidates`, which must come as near to passing, in a lane or two. Their host may then get nothing of memory that
    nobody wrote, if the original's does not. `ahead`: a `first_look` that is under way.

    Raises NoKernelInvolved where a check of values fails to which no launch's come, or are not seen to come, or where
    what they are held against does not stand; NotReproduced where nothing of the kind is seen, and the oracle asks for
    it."""
    found = _with_check(plan, source, lanes if candidates else None, ahead.result() if ahead is not None else None)
    if plan.oracle.needs.checked and not found.oracle.needs.compared:
        raise NotReproduced(
            f"{plan.pool.script.called} does not show 'mismatch': {found.mode.notes[-1] if found is not plan else NONE}"
        )
    return found


def _recording(pool: Pool) -> str:
    """The file in which a comparison is kept. A program that is not as the user's has a fence."""
    return str(Path(pool.setup.scratch) / "comparison")


def _asking(kinds: Sequence[str], path: str) -> tuple[str, ...]:
    return BLAME, KINDS + " ".join(kinds), SAVE + path


def _with_check(plan: Plan, source: str, lanes: LaneSet | None, ahead: Run | None) -> Plan:
    oracle = plan.oracle
    flaky = plan.seen.faulted < plan.seen.runs
    if flaky or not isinstance(oracle, SameFaultOracle) or not oracle.may_compare(plan.reference, source):
        return plan
    path = _recording(plan.pool)
    # The kernel may fault at other sizes; a stale result of the case before is right where both draw the same.
    for kinds, more in (((PART, PROBE), ()), ((PART,), ()), ((PART,), (GOES_ON,))):
        wants = (*oracle.needs.wants, *more)
        first = ahead or plan.pool.cold(source, wants=(*wants, *_asking(kinds, path)))
        ahead = None
        if oracle.judge(first).faults:
            break
    if not oracle.judge(first).faults:
        return plan
    seen, check = first.comparison, failed_check(first)
    if check and seen is not None and seen.elements and not (seen.kernels or first.builds):
        raise NoKernelInvolved(
            f"{plan.pool.script.called} fails a check of values that no kernel made: what its launches write does not "
            "come to it. There is no kernel's bug to reduce; to reduce the failure all the same, add --no-guards"
        )
    if seen is None or not seen.kernels:
        return _unless_asked(plan, first, check)
    if seen.side and check and is_of_values(first):  # else what was compared may have passed
        raise NoKernelInvolved(
            f"{plan.pool.script.called} fails a check of what {seen.kernels[-1]} wrote, and no kernel is to blame for "
            f"that: {seen.blame}. To reduce the failure all the same, add --no-guards"
        )
    asked = (*wants, AGAINST + path, UNSTEADY + " ".join(ALL))
    again = plan.pool.cold(source, wants=(*asked, UNWRITTEN) if lanes is not None else asked)
    is_written = lanes is not None and not again.unwritten and oracle.judge(again).faults
    if lanes is not None and not is_written:  # with a pattern in its memory it may be another check that fails
        again = plan.pool.cold(source, wants=asked)
    held = ComparisonCheck(seen, path).steady_in(again.comparison)
    if not oracle.judge(again).faults:
        return plan.noted(OTHER)
    if held.difference(again) or held.doubt(again):
        return _unless_asked(plan, first, check, "it is another check from run to run").noted(OTHER)
    if lanes is not None:
        held = replace(held, apart=_apart(plan, source, wants, lanes))
    compared = oracle.comparing(held, draws_go_on=GOES_ON in wants)
    compared = compared.guarding_memory() if is_written else compared
    pool = fitting(plan.pool, compared) or plan.pool
    plan = replace(plan, seen=replace(plan.seen, oracle=compared), pool=pool).noted(held.told())
    return plan if PROBE in kinds else plan.noted(SIZES)


def _unless_asked(plan: Plan, run: Run, check: str, why: str = "") -> Plan:
    """The plan, whose oracle has nothing but the words. Raises NoKernelInvolved where those are a check's of values,
    and kernels ran before it: by the words alone they would go first."""
    if not check or not run.launches or run.builds or plan.oracle.needs.checked:
        return plan
    seen = run.comparison
    if not (seen is not None and (seen.elements or seen.trouble)) and not is_of_values(run):
        return plan
    why = why or _lost(run.comparison)
    names = list(dict.fromkeys(launch.kernel for launch in run.launches))
    more = f" and {len(names) - 2} more" if len(names) > 2 else ""
    knob = "" if run.virtual else " For what its launches write, whatever it checks: --oracle differs:interpreter."
    raise NoKernelInvolved(
        f"{plan.pool.script.called} fails a check ({check}) after launches of {', '.join(names[:2])}{more}, and {why}. "
        "By its words alone a reproducer would lose the kernel. Hold what the kernel writes against its reference with "
        f"torch.testing.assert_close, and ask --oracle mismatch.{knob} To reduce by the words all the same, add "
        "--no-guards"
    )


def _lost(seen: Comparison | None) -> str:
    """Why nothing ties a check to a launch."""
    if seen is not None and seen.trouble:
        return f"what was compared is not known ({seen.trouble})"
    return "no tensors that it compares were followed back to one: not in another thread, nor behind torch.compile"


def _apart(plan: Plan, source: str, wants: tuple[str, ...], lanes: LaneSet) -> str:
    """The fraction of the distance between the two sides with which the original passes its check; empty: none does.
    What a lane does not show cold processes are asked."""
    fractions = FRACTIONS if plan.seen.cold_seconds < SLOW else FRACTIONS[1:2]
    warm = lanes.up(plan.oracle, wait=True)
    asked: list[tuple[int, Callable[[KnobSetting], Run]]] = [
        (1, lambda way: plan.pool.cold(source, way=way, wants=wants))
    ]
    if warm is not None:
        jobs = lanes_that_fit(warm, warm.jobs)
        asked.insert(0, (jobs, lambda way: warm.run(source, fresh=True, way=way, wants=wants)))
    found = (_enough(plan.oracle, fractions, run, jobs) for jobs, run in asked)
    return next(filter(None, found), "")


def _enough(oracle: Oracle, fractions: Sequence[str], ask: Callable[[KnobSetting], Run], jobs: int) -> str:
    """The first of the fractions with which such a run passes; empty: none. So many are asked at a time."""
    for fraction, run in _asked(fractions, ask, jobs):
        if not any(run.turned.values()):
            return ""
        if not oracle.judge(run).faults:
            return fraction if is_clean(run) else ""
    return ""


def _asked(
    fractions: Sequence[str], ask: Callable[[KnobSetting], Run], jobs: int
) -> Iterator[tuple[str, Run]]:
    with ThreadPoolExecutor(jobs) as threads:
        for at in range(0, len(fractions), jobs):
            some = fractions[at : at + jobs]
            yield from zip(some, threads.map(ask, [parse_setting(f"apart={each}") for each in some]))

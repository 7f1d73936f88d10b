"""What a reduction begins with, once: the choice is kept in the journal, and a resumed reduction makes the same one."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace

from shrinkray_gpu.calibration.missed import FURTHER
from shrinkray_gpu.errors import if_it_helps
from shrinkray_gpu.oracle.needs import UNASKED
from shrinkray_gpu.oracle.same import SameFaultOracle
from shrinkray_gpu.reduction.journal import Journal
from shrinkray_gpu.reduction.keep import kept_nodes
from shrinkray_gpu.reduction.lift_choice import LiftChoice
from shrinkray_gpu.start.capture_runs import Runs, plain
from shrinkray_gpu.start.choice import StartSearch
from shrinkray_gpu.start.given import Say, Start, UserProgram
from shrinkray_gpu.start.kernel_alone import kernel_alone, may_be
from shrinkray_gpu.start.one_file import in_one_file


def begin(given: UserProgram, journal: Journal, say: Say) -> Start:
    """The program to reduce: a lifted one, if that shows the same fault. When resumed, the one that the journal has."""
    if _is_bound(given):
        return Start(given.program)
    may_be_lifted, bare = _may_be_lifted(given), may_be(given)
    if not (may_be_lifted or bare):
        return Start(given.program)
    if (known := journal.recall_lift()) is not None:
        return _recalled(given, known)
    started = time.monotonic()
    start = Start(given.program)
    if may_be_lifted:
        start = if_it_helps(StartSearch(given, say).start, start, "lifting", say)
    start = replace(start, seconds=time.monotonic() - started)
    if bare and not start.alone and (start.reference is not None or not may_be_lifted):
        whole = start
        start = if_it_helps(lambda: kernel_alone(whole, given, say), whole, "taking its kernels alone", say)
    _keep(journal, start)
    return start


def without(start: Start, given: UserProgram, why: str, journal: Journal, say: Say) -> Start:
    """The program as the user gave it, after all: a lifted one that does not do. Where that was a launch, it may still
    be one file."""
    assert start.reference is not None and start.oracle is not None
    told = f"not lifted, after all: {why}"
    seen = (plain(start.reference),)
    whole = replace(
        start,
        program=given.program,
        lifted=False,
        alone=False,
        history=False,
        told=told,
        seen=seen,
        lanes=None,
        bare=False,
    )
    if start.alone:
        runs = Runs(given, say)
        runs.enough = FURTHER + 1
        try:
            whole = in_one_file(whole, start.oracle, runs, say)
        finally:
            runs.close()
        whole = replace(whole, tries=runs.tries + Counter(start.tries))
    _keep(journal, whole)
    return whole


def _is_bound(given: UserProgram) -> bool:
    """Whether the user wants the program as it is, or names parts of it."""
    return given.as_it_is or bool(kept_nodes(given.program, given.keep))


def _may_be_lifted(given: UserProgram) -> bool:
    """Whether a run with launches written down can answer the oracle, and a lifted script be what the user wants."""
    chosen = given.chosen
    # Outputs that are compared and hangs need runs of their own kind, `script:` none of ours.
    needs = chosen.needs if chosen is not None else UNASKED
    return needs.run and not (needs.twins or needs.builds or needs.timing)


def _keep(journal: Journal, start: Start) -> None:
    if start.reference is not None:
        causes = start.oracle.causes if isinstance(start.oracle, SameFaultOracle) else None
        text = start.program.text if start.lifted else None
        journal.record_lift(
            LiftChoice(
                plain(start.reference),
                text,
                start.told,
                start.alone,
                start.history,
                start.bare,
                start.merged,
                causes if causes is not None and causes.kept else None,
                start.fault,
            )
        )


def _recalled(given: UserProgram, known: LiftChoice) -> Start:
    """What a killed reduction chose, without a run."""
    oracle = (given.chosen or given.adopting(known.run)).calibrate(known.run)
    start = Start(given.program, oracle, known.run, fault=known.fault, told=known.told, seen=(known.run,))
    if known.text is None:
        return start
    if known.kept is not None and isinstance(oracle, SameFaultOracle):
        start = replace(start, oracle=oracle.keeping(known.kept))
    return replace(
        start,
        program=given.program.with_text(known.text),
        lifted=True,
        alone=known.alone,
        history=known.history,
        bare=known.bare,
        merged=known.merged,
    )

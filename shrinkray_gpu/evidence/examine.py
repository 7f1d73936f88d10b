"""The full fingerprint of a fault: what each instrument says of one program, put together.

`examine` asks all instruments, for a person; `fingerprint` only those that a checkpoint can afford. What is observed
(core dump, sanitizer) goes before what is predicted (the static rule); what nobody tells stays empty.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from shrinkray_gpu.errors import bug_words
from shrinkray_gpu.evidence.evidence import Evidence
from shrinkray_gpu.evidence.instruments import INSTRUMENTS, INTERMITTENT, ORDER, QUICK, USUAL
from shrinkray_gpu.evidence.instruments.code import CODE
from shrinkray_gpu.evidence.instruments.cold_run import cold, stated
from shrinkray_gpu.evidence.instruments.instrument import (
    SKIPPED,
    WANTS,
    Cost,
    Instrument,
    Observation,
    Statement,
    Subject,
)
from shrinkray_gpu.evidence.synthesis import assemble
from shrinkray_gpu.evidence.versions import versions
from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import COLD, Script
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.runner.scratch_folder import scratch_folder


def examine(
    text: str,
    script: Script,
    setup: Setup,
    *,
    seconds: float,
    extra: float = COLD,
    ask: Iterable[str] = USUAL,
    intermittent: bool = False,
    told_versions: bool = True,
    run: Run | None = None,
) -> Evidence:
    """Run the program once, and once more for each instrument in `ask` that its fault calls for. On the virtual GPU it
    may have been run: `run` is that of a plain script, with WANTS delivered.

    A plain run may take `seconds`, and `extra` for its imports. `intermittent`: it does not fault in every run, so that
    instruments are asked though this one ended well.
    """
    asked = frozenset(ask) | (INTERMITTENT if intermittent else frozenset())
    with (
        scratch_folder(setup.scratch) as folder,
        ThreadPoolExecutor() as threads,
    ):
        subject = Subject(text, script, setup, seconds, Path(folder), extra)
        # Beside the first run, which nearly always says that they are called for: each takes seconds of a process.
        beside = _begun(subject, asked, threads) if subject.gpu else {}
        run, about = stated(run) if run is not None else cold(subject, WANTS if CODE in asked else ())
        fault = Fault.of(run)
        observations = []
        for one in INSTRUMENTS:
            if one.look is not None and one.name in asked and one.applies(fault, intermittent and not run.trouble):
                observations.append(
                    beside[one.name].result() if one.name in beside else _observation(one, subject, run)
                )
        evidence = assemble(subject, run, observations, code=CODE in asked)
        said = {each.instrument: each for each in (about, *evidence.said)}
        known = versions(setup.python, setup.environment, gpu=subject.gpu) if told_versions else {}
    ordered = tuple(said.get(name) or Statement(name, SKIPPED, _why_not(name, fault, asked)) for name in ORDER)
    return replace(evidence, said=ordered, versions=known)


def _begun(subject: Subject, asked: frozenset[str], threads: ThreadPoolExecutor) -> dict[str, Future[Observation]]:
    """The instruments that run the program by themselves, at work."""
    return {
        one.name: threads.submit(_observation, one, subject, None)
        for one in INSTRUMENTS
        if one.look is not None and one.name in asked
    }


def _observation(one: Instrument, subject: Subject, run: Run | None) -> Observation:
    """What the instrument says. One that fails by a bug of ours has seen nothing."""
    assert one.look is not None
    try:
        return one.look(subject, run)
    except Exception as error:  # whatever it is: an instrument only helps
        return Observation.missing(one.name, f"a bug of shrink's own: {bug_words(error)}")


def fingerprint(text: str, script: Script, setup: Setup, *, seconds: float, run: Run | None = None) -> Fault | None:
    """The fault as the instruments of a checkpoint see it on the virtual GPU: in `run`, or else in a cold one. None if
    the program shows none. On a real one see `checkpoints`."""
    return examine(text, script, setup, seconds=seconds, ask=QUICK, told_versions=False, run=run).fault


def _why_not(name: str, fault: Fault | None, asked: frozenset[str]) -> str:
    if name in INTERMITTENT and name not in asked:
        return Cost.INTERMITTENT.value
    if name not in asked:
        return Cost.REQUEST.value
    if fault is None:
        return "there is no fault to look at"
    return "of no use for this kind of fault"

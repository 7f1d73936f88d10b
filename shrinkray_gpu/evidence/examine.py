"""The full fingerprint of a fault: what each instrument says of one program, put together.

`examine` asks all instruments, for a person; `fingerprint` only those that a checkpoint can afford. What is observed
(core dump, sanitizer) goes before what is predicted (the static rule); what nobody tells stays empty.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from shrinkray_gpu.device import sanitizer_records
from shrinkray_gpu.device.dump import Dump
from shrinkray_gpu.device.record import Record
from shrinkray_gpu.evidence import instruments
from shrinkray_gpu.evidence.evidence import Evidence
from shrinkray_gpu.evidence.instruments import CODE, DUMP, SKIPPED, STATIC, Said, Subject
from shrinkray_gpu.evidence.synthesis import assembled
from shrinkray_gpu.evidence.versions import versions
from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import COLD, Script
from shrinkray_gpu.runner.run import Run


def examine(
    text: str,
    script: Script,
    setup: Setup,
    *,
    seconds: float,
    extra: float = COLD,
    ask: Iterable[str] = instruments.USUAL,
    intermittent: bool = False,
    told_versions: bool = True,
) -> Evidence:
    """Run the program once, and once more for each instrument in `ask` that its fault calls for.

    A plain run may take `seconds`, and `extra` for its imports. `intermittent`: it does not fault in every run, so that
    instruments are asked though this one ended well.
    """
    asked = frozenset(ask) | (instruments.INTERMITTENT if intermittent else frozenset())
    with (
        tempfile.TemporaryDirectory(dir=setup.scratch, ignore_cleanup_errors=True) as folder,
        ThreadPoolExecutor() as threads,
    ):
        subject = Subject(text, script, setup, seconds, Path(folder), extra)
        # Beside the first run, which nearly always says that they are called for: each takes seconds of a process.
        beside = _begun(subject, asked, threads) if subject.gpu else {}
        run, about = instruments.cold(subject, instruments.WANTS if CODE in asked else ())
        fault = Fault.of(run)
        said = {about.instrument: about}
        device = fault is not None and fault.phase == "device"
        rule: Run | None = None
        dump: Dump | None = None
        found: list[Record] = []
        if device or (intermittent and not run.trouble):
            if STATIC in asked:
                begun = beside.get(STATIC)
                rule, said[STATIC] = begun.result() if begun else instruments.static(subject, run)
            if DUMP in asked:
                begun = beside.get(DUMP)
                dump, said[DUMP] = begun.result() if begun else instruments.dumped(subject)
            for tool in sanitizer_records.TOOLS:
                if tool in asked:
                    begun = beside.get(tool)
                    records, said[tool] = begun.result() if begun else instruments.sanitized(subject, tool)
                    found += records
        evidence = assembled(subject, run, rule=rule, dump=dump, records=found, said=said, code=CODE in asked)
        for name in instruments.ORDER:
            said.setdefault(name, Said(name, SKIPPED, _why_not(name, fault, asked)))
        known = versions(setup.python, setup.environment, gpu=subject.gpu) if told_versions else {}
    ordered = tuple(said[name] for name in instruments.ORDER)
    return replace(evidence, said=ordered, versions=known)


def _begun(subject: Subject, asked: frozenset[str], threads: ThreadPoolExecutor) -> dict[str, Future[Any]]:
    """The instruments that run the program by themselves, at work."""
    begun: dict[str, Future[Any]] = {}
    if STATIC in asked:
        begun[STATIC] = threads.submit(instruments.static, subject, None)
    if DUMP in asked:
        begun[DUMP] = threads.submit(instruments.dumped, subject)
    for tool in sanitizer_records.TOOLS:
        if tool in asked:
            begun[tool] = threads.submit(instruments.sanitized, subject, tool)
    return begun


def fingerprint(text: str, script: Script, setup: Setup, *, seconds: float) -> Fault | None:
    """The fault as the instruments of a checkpoint see it on the virtual GPU: one run. None if the program shows none.
    On a real one see `checkpoints`."""
    return examine(text, script, setup, seconds=seconds, ask=instruments.QUICK, told_versions=False).fault


def _why_not(name: str, fault: Fault | None, asked: frozenset[str]) -> str:
    if name in instruments.INTERMITTENT and name not in asked:
        return "for a fault that comes and goes"
    if name not in asked:
        return "on request"
    if fault is None:
        return "there is no fault to look at"
    return "of no use for this kind of fault"

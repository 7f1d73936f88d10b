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

from shrinkray_gpu.evidence import instruments
from shrinkray_gpu.evidence.assembling import assembled
from shrinkray_gpu.evidence.dumping import ACCESSES
from shrinkray_gpu.evidence.evidence import Evidence
from shrinkray_gpu.evidence.instruments import CODE, DUMP, SKIPPED, STATIC, Said, Subject
from shrinkray_gpu.evidence.versions import versions
from shrinkray_gpu.oracle.fault import Fault
from shrinkray_gpu.runner import coredump, sanitizer
from shrinkray_gpu.runner.coredump import Dump
from shrinkray_gpu.runner.lanes import Setup
from shrinkray_gpu.runner.pool import COLD, Script
from shrinkray_gpu.runner.run import Run
from shrinkray_gpu.runner.sanitizer import Record


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
            for tool in sanitizer.TOOLS:
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
    for tool in sanitizer.TOOLS:
        if tool in asked:
            begun[tool] = threads.submit(instruments.sanitized, subject, tool)
    return begun


def fingerprint(text: str, script: Script, setup: Setup, *, seconds: float, run: Run | None = None) -> Fault | None:
    """The fault as the instruments of a checkpoint see it: a cold run, and on a GPU a core dump, or the sanitizer where
    nobody can read one. None if the program shows no fault.

    `run`: one that showed it. Then a core dump needs no other: of a program that takes a minute, that is a minute; and
    the answer is None, too, if no dump was written."""
    if setup.arch is not None:
        return examine(text, script, setup, seconds=seconds, ask=instruments.QUICK, told_versions=False).fault
    fault, unread = by_dump(text, script, setup, seconds=seconds, run=run)
    return by_record(text, script, setup, seconds=seconds, dumped=fault) if unread else fault


def by_dump(
    text: str, script: Script, setup: Setup, *, seconds: float, run: Run | None = None
) -> tuple[Fault | None, bool]:
    """What a core dump adds to a cold run, or to the `run` given; and whether there is no more to learn from dumps:
    nobody is here to read them, or this one was written of an access and does not tell its instruction. Of a kernel
    that ended before the exception came, cuda-gdb itself dies. (13.0, H100)"""
    if coredump.find(setup.python, setup.environment) is None:
        return None, True
    with (
        tempfile.TemporaryDirectory(dir=setup.scratch, ignore_cleanup_errors=True) as folder,
        ThreadPoolExecutor(1) as threads,
    ):
        subject = Subject(text, script, setup, seconds, Path(folder))
        begun = threads.submit(instruments.dumped, subject)
        shown = run if run is not None else instruments.cold(subject, instruments.WANTS)[0]
        dump, _ = begun.result()
        fault = assembled(subject, shown, dump=dump, code=run is None).fault
        written = (subject.folder / "core").exists()
    unread = written and fault is not None and fault.code in ACCESSES and not fault.instruction
    return (fault if dump is not None or run is None else None), unread


def by_record(text: str, script: Script, setup: Setup, *, seconds: float, dumped: Fault | None = None) -> Fault | None:
    """What the sanitizer adds to a cold run; where it saw nothing of a kernel either, what a dump had told."""
    fault = examine(text, script, setup, seconds=seconds, ask=(CODE, "memcheck"), told_versions=False).fault
    return fault if dumped is None or (fault is not None and fault.kernel) else dumped


def _why_not(name: str, fault: Fault | None, asked: frozenset[str]) -> str:
    if name in instruments.INTERMITTENT and name not in asked:
        return "for a fault that comes and goes"
    if name not in asked:
        return "on request"
    if fault is None:
        return "there is no fault to look at"
    return "of no use for this kind of fault"

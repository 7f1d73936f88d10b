"""How a run under a control ends, held against the original's plain run."""

from __future__ import annotations

import re

from shrinkray_gpu.device import error_table
from shrinkray_gpu.oracle import speech
from shrinkray_gpu.oracle.driver_error import sticky_code
from shrinkray_gpu.oracle.fault import Fault, normalise
from shrinkray_gpu.runner.run import Run

_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def says_again(run: Run, reference: Run | None) -> bool:
    """Whether it dies of what the original dies of, but for the numbers in it."""
    mine, theirs = (Fault.of(each) if each is not None else None for each in (reference, run))
    return mine is not None and theirs is not None and _numberless(mine) == _numberless(theirs)


def _numberless(fault: Fault) -> tuple[str, str]:
    return fault.klass, _NUMBER.sub("N", fault.said)


def fails_by_design(kernel: str, reference: Run | None) -> bool:
    """Whether the original's plain run fails to compile a kernel as well, beside the one that the fault is about: of
    that one a compiler that fails in another way under a control has shown nothing."""
    broken = {compile.kernel for compile in reference.compiles if compile.failure is not None} if reference else set()
    fault = Fault.of(reference) if reference is not None else None
    at_fault = {fault.kernel, fault.near} if fault is not None and fault.phase == "compile" else set()
    return bool(broken - at_fault) and kernel not in at_fault


def ends_like(run: Run, reference: Run | None) -> bool:
    """Whether it ends as the original's plain run does, which is by something else than the fault."""
    if reference is None or sticky_code(run)[0] or run.children or reference.children:
        return False
    if sticky_code(reference)[0] and any(error_table.sticky_in(said.text) for said in speech.failure_words(reference)):
        return False
    return _ending(run) == _ending(reference)


def _ending(run: Run) -> tuple[object, ...]:
    failure = speech.uncaught(run)
    said = (failure.type, normalise(speech.last_line(failure))) if failure else ()
    return (run.exit, run.signal, *said)

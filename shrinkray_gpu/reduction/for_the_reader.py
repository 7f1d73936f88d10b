"""The last step, for the reader, who wants a program in order. It may make it larger by the size order, but the fault
must stay.
"""

from __future__ import annotations

from collections.abc import Callable

from shrinkray_gpu.reduction.cached_test import CachedTest
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.state import State
from shrinkray_gpu.reduction.steps import Steps


def lay_out(layout: Callable[[str], str], state: State, steps: Steps, test: CachedTest) -> None:
    """Go on from the program in its final layout, if it faults. Where that is other code, and not the same in another
    shape, a cold process, the controls and the fingerprint must agree."""
    program, checks = state.current, steps.checks
    candidate = program.with_text(layout(program.text))
    if candidate.text == program.text:
        return
    state.pass_name = "layout"
    if not test.consider([candidate], smaller=False)[0]:
        return
    confirmed = checks.confirmations.cold_runs
    if candidate.key != program.key:
        vouched: list[bool | None] = [True]
        checks.controls.vouch([candidate], vouched, same=program.key)
        if vouched[0] and confirmed and not checks.confirmations.cold(candidate).faults:
            return
        checks.fingerprints.vouch([candidate], vouched, same=program.key)
        if not vouched[0]:
            return
    steps.accept(candidate, smaller=False)
    if confirmed:
        checks.confirmations.trust(steps.line.last)


def with_layout(layout: Callable[[str], str], program: Program) -> Program:
    """The program as its reader wants it, as far as that is the same code and so needs no try."""
    candidate = program.with_text(layout(program.text))
    return candidate if candidate.key == program.key else program

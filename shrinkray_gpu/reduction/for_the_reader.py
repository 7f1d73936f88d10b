"""The last step, for the reader, who wants a program in order. It may make it larger by the size order, but the fault
must stay.
"""

from __future__ import annotations

from collections.abc import Callable

from shrinkray_gpu.reduction.answers import Answers
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.state import State
from shrinkray_gpu.reduction.steps import Steps


def lay_out(layout: Callable[[str], str], state: State, steps: Steps, answers: Answers) -> None:
    """Go on from the program in order, if it faults: where it is other code, and not the same in another shape, under
    no control that makes the original pass, in a cold process too, and with no other fingerprint."""
    candidate = state.current.with_text(layout(state.current.text))
    if candidate.text == state.current.text:
        return
    checks = steps.checks
    state.pass_name = "layout"
    if not answers.ask([candidate], smaller=False)[0]:
        return
    checked = checks.confirmations.confirm is not None
    if candidate.key != state.current.key:
        vouched: list[bool | None] = [True]
        checks.guards.vouch([candidate], vouched, same=state.current.key)
        if vouched[0] and checked and not checks.confirmations.cold(candidate).faults:
            return
        checks.identity.vouch([candidate], vouched, same=state.current.key)
        if not vouched[0]:
            return
    steps.accept(candidate, smaller=False)
    if checked:
        checks.confirmations.trust(steps.line.last)


def laid_out(layout: Callable[[str], str], program: Program) -> Program:
    """The program as its reader wants it, as far as that is the same code and so needs no try."""
    candidate = program.with_text(layout(program.text))
    return candidate if candidate.key == program.key else program

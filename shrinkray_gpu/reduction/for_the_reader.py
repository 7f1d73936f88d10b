"""Steps for the reader, who wants a program that shows the fault each time, and in order. They may make it larger by
the size order, but the fault must stay.
"""

from __future__ import annotations

from collections.abc import Callable

from shrinkray_gpu.reduction.answers import Answers
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.state import State
from shrinkray_gpu.reduction.steps import Steps


def lay_out(layout: Callable[[str], str], plain: Program, state: State, steps: Steps, answers: Answers) -> None:
    """The plain program first; where the fault does not stay in that, the one at hand."""
    program = state.current
    for text in dict.fromkeys(layout(each.text) for each in (plain, program)):
        if text == program.text or taken(program.with_text(text), "layout", state, steps, answers):
            return


def taken(candidate: Program, by: str, state: State, steps: Steps, answers: Answers) -> bool:
    """Go on from the candidate, if it faults: where it is other code, and not the same in another shape, under no
    control that makes the original pass, in a cold process too, and with no other fingerprint."""
    checks = steps.checks
    state.pass_name = by
    if not answers.ask([candidate], smaller=False)[0]:
        return False
    checked = checks.confirmations.confirm is not None
    if candidate.key != state.current.key:
        vouched: list[bool | None] = [True]
        checks.guards.vouch([candidate], vouched, same=state.current.key)
        if vouched[0] and checked and not checks.confirmations.cold(candidate).faults:
            return False
        checks.identity.vouch([candidate], vouched, same=state.current.key)
        if not vouched[0]:
            return False
    steps.accept(candidate, smaller=False)
    if checked:
        checks.confirmations.trust(steps.line.last)
    return True


def laid_out(layout: Callable[[str], str], program: Program) -> Program:
    """The program as its reader wants it, as far as that is the same code and so needs no try."""
    candidate = program.with_text(layout(program.text))
    return candidate if candidate.key == program.key else program

"""The last step: order for the reader. It may make the program larger by the size order, but the fault must stay."""

from __future__ import annotations

from collections.abc import Callable

from shrinkray_gpu.reduction.answers import Answers
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.state import State
from shrinkray_gpu.reduction.steps import Steps


def lay_out(
    layout: Callable[[str], str], plainer: Callable[[Program], Program], state: State, steps: Steps, answers: Answers
) -> None:
    """First without what `plainer` leaves out; where the fault does not stay then, with it."""
    program = state.current
    for text in dict.fromkeys(layout(each.text) for each in (plainer(program), program)):
        if text == program.text or _taken(program.with_text(text), state, steps, answers):
            return


def _taken(candidate: Program, state: State, steps: Steps, answers: Answers) -> bool:
    """It must fault in a cold process too where it is other code (imports that moved) and not the same in another
    shape."""
    checks = steps.checks
    if not answers.ask([candidate], smaller=False)[0]:
        return False
    checked = checks.confirmations.confirm is not None
    if candidate.key != state.current.key:
        if checked and not checks.confirmations.cold(candidate).faults:
            return False
        vouched: list[bool | None] = [True]
        checks.guards.vouch([candidate], vouched, same=state.current.key)
        checks.identity.vouch([candidate], vouched, same=state.current.key)
        if not vouched[0]:
            return False
    state.pass_name = "layout"
    steps.accept(candidate, smaller=False)
    if checked:
        checks.confirmations.trust(steps.line.last)
    return True


def laid_out(layout: Callable[[str], str], program: Program) -> Program:
    """The program as its reader wants it, as far as that is the same code and so needs no try."""
    candidate = program.with_text(layout(program.text))
    return candidate if candidate.key == program.key else program

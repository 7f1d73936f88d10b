"""The last step: order for the reader. It may make the program larger, but the fault must stay."""

from __future__ import annotations

from collections.abc import Callable

from shrinkray_gpu.reduction.answers import Answers
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.state import State
from shrinkray_gpu.reduction.steps import Steps


def lay_out(layout: Callable[[str], str], state: State, steps: Steps, answers: Answers) -> None:
    """It must fault in a cold process too where it is other code (imports that moved) and not the same in another
    shape."""
    candidate, checks = state.current.with_text(layout(state.current.text)), steps.checks
    if candidate.text == state.current.text or not answers.ask([candidate], smaller=False)[0]:
        return
    checked = checks.confirmations.confirm is not None
    if candidate.key != state.current.key:
        if checked and not checks.confirmations.cold(candidate).faults:
            return
        vouched: list[bool | None] = [True]
        checks.guards.vouch([candidate], vouched, same=state.current.key)
        checks.identity.vouch([candidate], vouched, same=state.current.key)
        if not vouched[0]:
            return
    state.pass_name = "layout"
    steps.accept(candidate, smaller=False)
    if checked:
        checks.confirmations.trust(steps.line.last)


def laid_out(layout: Callable[[str], str], program: Program) -> Program:
    """The program as its reader wants it, as far as that is the same code and so needs no try."""
    candidate = program.with_text(layout(program.text))
    return candidate if candidate.key == program.key else program

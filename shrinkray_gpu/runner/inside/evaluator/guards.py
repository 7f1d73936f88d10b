"""Branches that lead to an access by a condition on what its address is made of."""

from __future__ import annotations

from typing import Any, Iterable, List, Tuple

from ..static.cause import CONSTANT, PROGRAM
from .machine import Note
from .trace import Step, Trace, inputs_of


def guards(note: Note, address: Iterable[Step]) -> Tuple[str, ...]:
    """Of each condition on the way to an access that looks at leaves of its address, what it hangs on. Of an unrolled
    loop the number of the trip is a constant, which the address may have multiplied already."""
    ours = {_identity(step) for step in address}
    numbers = [value for kind, *values in ours if kind == CONSTANT for value in values if value]
    found: List[str] = []
    for frame, op, _ in note.conditions:
        env = note.env if frame is note.frame else frame.env
        leaves = list(Trace(frame, env, op, op.operands()[:1]).leaves())
        trips = [step.scalar for step in leaves if step.kind == CONSTANT]
        unrolled = any(number % trip == 0 for trip in trips if trip for number in numbers)
        if unrolled or not ours.isdisjoint(map(_identity, leaves)):
            found.append(" ".join(sorted(inputs_of(leaves))))
    return tuple(found)


def _identity(step: Step) -> Tuple[Any, ...]:
    """By what a leaf is known where another operation gives it once more."""
    if step.kind == CONSTANT:
        return step.kind, step.scalar or 0
    if step.kind == PROGRAM and step.op is not None:
        return step.kind, step.op.body
    return step.kind, id(step.frame), step.name

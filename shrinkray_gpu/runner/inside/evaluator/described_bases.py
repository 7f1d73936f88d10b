"""Where what a kernel's descriptors describe begins, if at no multiple of what TMA takes: of what that is made."""

from __future__ import annotations

from typing import List

import torch

from ..static import cause as kinds
from ..static.cause import Cause, Evaluation
from ..static.tma import BASE, NAME
from ..static.ttgir import Op
from .access import reach
from .causes import place_of
from .launch import LaunchedKernel, look
from .machine import Machine, Note
from .memory import Address
from .module import MAKES_DESCRIPTOR
from .numbers import Algebra, Lanes, TooLarge, Unfollowed, wrapped
from .operations import HANDLERS, describe
from .trace import TERM, Trace, inputs_of, parameters_behind


def evaluate(launch: LaunchedKernel) -> Evaluation:
    """Each such descriptor. Whether a copy is made by it is not asked."""
    seen = look(launch, handlers={**HANDLERS, MAKES_DESCRIPTOR: _noted})
    with torch.no_grad():
        found: List[Cause] = [_cause(launch, note) for note in seen.machine.notes if _is_off(note)]
    return Evaluation(tuple(dict.fromkeys(found)))


def _noted(machine: Machine, op: Op) -> None:
    describe(machine, op)
    machine.note(op, machine.get(op.operands()[0]))


def _is_off(note: Note) -> bool:
    offset = wrapped(note.subject.offset) if isinstance(note.subject, Address) else 0
    if note.op.name != MAKES_DESCRIPTOR or isinstance(offset, Unfollowed):
        return False
    if isinstance(offset, int):
        return offset % BASE != 0
    algebra = Algebra()
    try:
        return reach(algebra, 0, Lanes(algebra.tensor(offset) % BASE != 0, 0, 1)) is not None
    except TooLarge:
        return False


def _cause(launch: LaunchedKernel, note: Note) -> Cause:
    leaves = list(Trace(note.frame, note.env, note.op, note.op.operands()[:1]).leaves())
    inputs, place = inputs_of(leaves), place_of(launch, note.op)
    if note.subject.buffer.at % BASE:  # what is passed begins there already
        inputs.add(kinds.ARGUMENT)
    return Cause(
        NAME,
        kinds.BASE,
        "",
        TERM,
        tuple(sorted(inputs)),
        "",
        masked=False,
        exact=True,
        far=kinds.ANYWHERE,
        first=False,
        always=False,
        detail="",
        place=place,
        at=place,
        sentence="a descriptor (%s) is of what begins at no multiple of %d bytes" % (place, BASE),
        parameters=tuple(sorted({name for leaf in leaves for name in parameters_behind(leaf)})),
    )

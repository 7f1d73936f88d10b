"""A mask that is missing or lets an access through: its bound is the tensor's and one too many, or what the host passes
is wrong, constants among it, or the tensor is too small."""

from __future__ import annotations

import functools
import itertools
from typing import Any, Collection, Dict, FrozenSet, Iterable, List, Optional, Sequence, Set, Tuple

from ..static import cause as kinds
from ..static import locations
from ..static.ttgir import Op
from .counterfactual import Counterfactual, count_of, extents_of
from .launch import LaunchedKernel, Look
from .memory import Buffer
from .module import IrFunction
from .numbers import number
from .trace import BOUND, Step, Trace, ends_of_loop

_ENDS = tuple(
    form % end for bits in (32, 64) for end in (-(1 << bits - 1), (1 << bits - 1) - 1) for form in ("%d :", "dense<%d>")
)
"""The least and the greatest integers, as `arith.constant` has them."""


def by_one(what_if: Counterfactual, buffer: Buffer, trace: Trace, left: Iterable[Step]) -> bool:
    """Whether the access is inside where its mask compares with one less than an extent of the tensor's. The address
    may hang on the same argument, and stays as it is. `left`: the indices that leave a dimension; a bound of others
    only leaves the last rows out."""
    own, leaving = extents_of(buffer), {step.index for step in left}

    def bounds_them(side: Step) -> bool:
        compared = {one.index for leaf in trace.below(side) for one in trace.compared(leaf)}
        return not leaving or bool(leaving & compared)

    values = [(side, side.scalar) for side in trace.bounds() if bounds_them(side)]
    return any(value in own and what_if.inside({side: value - 1}) for side, value in values if value)


def passed(what_if: Counterfactual, buffer: Buffer, steps: Iterable[Step], arguments: Sequence[Any]) -> Tuple[str, ...]:
    """See `Cause.passed`: of arguments among which a right bound is, the kernel may have taken the wrong one."""
    own = {0, 1, *extents_of(buffer), *buffer.strides}
    given = [(step, step.scalar) for step in steps if step.kind == kinds.ARGUMENT]
    bounds = [(step, value) for step, value in given if step.role == BOUND and value is not None]
    for other in {each for each in arguments if isinstance(each, int)}:
        if any(other < value and what_if.extent(step, other) for step, value in bounds):
            return ()
    return tuple(sorted({step.name.lstrip("%") for step, value in given if value is not None and value not in own}))


def bounding(trace: Trace) -> FrozenSet[str]:
    """The kernel's parameters that a mask hangs on."""
    leaves = (step for step in trace.leaves() if step.role == BOUND and step.kind == kinds.ARGUMENT)
    return frozenset(step.name.lstrip("%") for step in leaves)


def is_sized(seen: Look, buffer: Buffer, left: Collection[int]) -> bool:
    """See `Cause.sized`. `left`: the extents that are left; empty where nobody knows."""
    compared: Set[Optional[int]] = set()
    notes = [each.note for each in seen.accesses]
    for note in notes:
        function = note.frame.function
        used = {name for op in function.all for name in op.operands()}
        asked = [name for name in function.parameters if name not in used]  # passed to be asked, and forgotten
        compared.update(number(note.env.get(name)) for name in (*asked, *itertools.chain(*_limits(function).values())))
    for note in {id(each.frame.function): each for each in notes}.values():  # of `columns - trip * 32`, the columns
        for op, names in _limits(note.frame.function).items():
            leaves = (leaf for name in names for leaf in Trace(note.frame, note.env, op, [name]).leaves())
            compared.update(leaf.scalar for leaf in leaves if leaf.kind == kinds.ARGUMENT)
    extents = set(left) or {n for n in buffer.shape if n > 1}
    return extents <= compared or not left and count_of(buffer) in compared


@functools.lru_cache(maxsize=64)
def _limits(function: IrFunction) -> Dict[Op, List[str]]:
    """By operation what it compares with one another, or where a loop ends."""
    found = {op: op.operands() for op in function.all if op.name == "arith.cmpi" and not _is_check(function, op)}
    loops = (op for op in function.all if op.name == "scf.for")
    return {**found, **{op: [function.loops[id(op)].high] for op in loops}}


def _is_check(function: IrFunction, op: Op) -> bool:
    """Whether Triton itself compares, to see whether a sum or product wraps: that asks for no extent."""
    makers = (function.definitions.get(name) for name in op.operands())
    return any(each is not None and each.body.startswith(_ENDS) for each in makers)


def constexpr(launch: LaunchedKernel, step: Step) -> str:
    """The parameter of which a constant is the value, see `LaunchedKernel.passed`; empty where it is none's."""
    place = locations.of_place(launch.raw, step.op.place) if step.kind == kinds.CONSTANT and step.op else None
    if place is None or step.scalar is None:
        return ""
    return launch.passed().get((*place[1:], step.scalar), "")


def constexprs(launch: LaunchedKernel, trace: Trace) -> FrozenSet[str]:
    """Those of which a side of the mask's comparisons is made that no index is on."""
    bounds = (leaf for side in trace.bounds() for leaf in trace.below(side))
    return frozenset(filter(None, (constexpr(launch, leaf) for leaf in bounds)))


def ends(launch: LaunchedKernel, steps: Iterable[Step]) -> FrozenSet[str]:
    """The arguments that loops end at which lead beyond the tensor by themselves, those of these trips; where there are
    none, a constant of which a parameter is the value."""
    loops = [step for step in steps if step.kind == kinds.TRIP]
    leaves = [leaf for step in loops for leaf in ends_of_loop(step)[1]]
    given = frozenset(leaf.name for leaf in leaves if leaf.kind == kinds.ARGUMENT)
    constants = sorted(filter(None, (constexpr(launch, leaf) for leaf in leaves)))
    return given or frozenset(constants[:1])

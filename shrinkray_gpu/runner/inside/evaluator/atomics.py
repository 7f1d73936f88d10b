"""What an atomic addition gives back: it hangs on the order of the lanes, which a GPU may take as it likes.

Where each lane adds the same number, the lanes that meet at one address find there what it held, and that number more
for each lane before them: any of these, as the order has it. So an axis of its own, beyond those of
loops, has them all.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any, List

import torch

from ..static.ttgir import Op
from .machine import PROGRAM_AXES, Machine
from .memory import Address
from .numbers import Lanes, Unfollowed, wrapped
from .types import extents, pointee, signature

ORDER = "the order of atomic operations decides"
_ADDS = re.compile(r"add\b")


def given_back(machine: Machine, op: Op, address: Any) -> Any:
    """The result of a `tt.atomic_rmw`, or Unfollowed. Raises TooLarge."""
    added = wrapped(machine.get(op.operands()[1]))
    buffer = address.buffer if isinstance(address, Address) else None
    if buffer is None or buffer.parameter not in machine.once or machine.orders or machine.loops or machine.trials:
        return Unfollowed("an atomic operation gives it")
    shares = [each for each in machine.arguments if isinstance(each, Address) and each.buffer.storage == buffer.storage]
    target = pointee(signature(op.body))
    places = _whole_grid(machine)
    if len(shares) > 1 or target is None or not places or not _ADDS.match(op.body) or not isinstance(added, int):
        return Unfollowed("an atomic operation gives it")
    kind, width = target
    held, where, mask = buffer.integers(kind), wrapped(address.offset), wrapped(machine.notes[-1].mask)
    unknown = next((each for each in (held, where, mask) if isinstance(each, Unfollowed)), None)
    if unknown is not None:
        return Unfollowed(unknown.why)
    shape = (*places, *extents(signature(op.body)))
    machine.algebra.check([shape])
    offsets, active = (machine.algebra.tensor(each).expand(shape).reshape(-1) for each in (where, mask))
    active = active.bool() & (offsets >= 0) & (offsets + width <= buffer.size)
    met, group, lanes = torch.unique(offsets[active], return_inverse=True, return_counts=True)
    if not len(met):
        return 0
    order = torch.arange(int(lanes.max()))
    machine.algebra.check([(len(order), *shape)])
    before = torch.minimum(order[:, None], lanes[group][None, :] - 1)
    found = torch.zeros((len(order), len(offsets)), dtype=torch.int64)
    first = held[torch.div(met, width, rounding_mode="floor")].to(torch.int64)
    found[:, active] = first[group][None, :] + added * before
    counts = hashlib.sha256(repr((met.tolist(), first.tolist(), lanes.tolist(), added)).encode())
    machine.counted.append(counts.hexdigest()[:8])
    machine.orders += 1
    machine.loops += 1  # what comes later has its axes beyond
    return machine.algebra.wrap(Lanes(found.reshape(len(order), *shape), 0, 0).tighten(), width * 8)


def hangs_on_order(machine: Machine, value: Any, rank: int) -> bool:
    """Whether lanes of a block of so many dimensions may not be put together, since the order sets them apart."""
    if not machine.orders or isinstance(value, (int, Unfollowed)):
        return False
    axis = rank + PROGRAM_AXES + 1
    data = machine.algebra.tensor(wrapped(value))
    return bool(data.dim() >= axis and data.shape[-axis] > 1)


def _whole_grid(machine: Machine) -> List[int]:
    """The extents of the program's axes; none where some program instances are left out."""
    found = [1 if isinstance(each, int) else int(each.data.numel()) for each in reversed(machine.programs)]
    return found if found == list(reversed(machine.grid)) else []

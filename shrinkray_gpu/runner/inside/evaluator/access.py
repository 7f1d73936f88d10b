"""Whether an access stays inside of its storage, over all lanes at once.

Terms of an offset and factors of a mask that share no axis do not depend on one another, so the greatest offset under
the mask is the sum of the greatest of each such group. That is exact, and costs rows plus columns.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Set, Tuple

import torch

from .numbers import Algebra, Both, Lanes, Number, Sum, Unfollowed, as_mask, broadcast, varying

Lane = Dict[int, int]
"""By axis (counted from the right, from 1) the index of one lane; an axis that does not matter is left out."""


class Reach:
    """The least and the greatest offset under a mask, each with a lane that attains it."""

    def __init__(self) -> None:
        self.low = 0
        self.high = 0
        self.lowest: Lane = {}
        self.highest: Lane = {}


def factors(mask: Number) -> List[Lanes]:
    """The masks that all must hold; `mask` is no int."""
    return [as_mask(each) for each in (mask.factors if isinstance(mask, Both) else (mask,))]  # type: ignore[list-item]


def reach(algebra: Algebra, offset: Number, mask: Number) -> Optional[Reach]:
    """None where the mask holds nowhere."""
    if isinstance(mask, int) and not mask:
        return None
    found = Reach()
    terms: List[Any] = []
    if isinstance(offset, int):
        found.low = found.high = offset
    elif isinstance(offset, Sum):
        found.low = found.high = offset.constant
        terms = [term.data for term in offset.terms]
    else:
        terms = [algebra.tensor(offset)]
    masks = [] if isinstance(mask, int) else [factor.data for factor in factors(mask)]
    for group_terms, group_masks in _groups(terms, masks):
        if not _extend(algebra, found, group_terms, group_masks):
            return None
    return found


def _groups(terms: Sequence[Any], masks: Sequence[Any]) -> List[Tuple[List[Any], List[Any]]]:
    """Terms and masks in groups, no two of which share an axis."""
    groups: List[Tuple[Set[int], List[Any], List[Any]]] = []
    for at, tensor in enumerate([*terms, *masks]):
        axes = set(varying(tensor.shape))
        joined: Tuple[Set[int], List[Any], List[Any]] = (axes, [], [])
        (joined[1] if at < len(terms) else joined[2]).append(tensor)
        rest = []
        for group in groups:
            if group[0] & axes:
                joined[0].update(group[0])
                joined[1].extend(group[1])
                joined[2].extend(group[2])
            else:
                rest.append(group)
        # A group that was joined may share axes with what joined it before: axes only grow, so look again.
        again = True
        while again:
            again = False
            for group in list(rest):
                if group[0] & joined[0]:
                    joined[0].update(group[0])
                    joined[1].extend(group[1])
                    joined[2].extend(group[2])
                    rest.remove(group)
                    again = True
        groups = [*rest, joined]
    return [(group_terms, group_masks) for _, group_terms, group_masks in groups]


def _extend(algebra: Algebra, found: Reach, terms: List[Any], masks: List[Any]) -> bool:
    """Add what one group reaches; False where its mask holds nowhere."""
    shape = broadcast(tensor.shape for tensor in (*terms, *masks))
    algebra.check([shape])
    total = terms[0] if terms else torch.zeros((), dtype=torch.int64)
    for term in terms[1:]:
        total = total + term
    low = high = total
    if masks:
        holds = masks[0]
        for mask in masks[1:]:
            holds = holds & mask
        if not bool(holds.any()):
            return False
        limits = torch.iinfo(torch.int64) if not total.is_floating_point() else torch.finfo(total.dtype)
        low = torch.where(holds, total, torch.full((), limits.max, dtype=total.dtype))
        high = torch.where(holds, total, torch.full((), limits.min, dtype=total.dtype))
    for which, data, lane in ((torch.argmin, low, found.lowest), (torch.argmax, high, found.highest)):
        place = int(which(data))
        lane.update(unravel(place, data.shape))
        value = int(data.reshape(-1)[place])
        if which is torch.argmin:
            found.low += value
        else:
            found.high += value
    return True


def unravel(place: int, shape: Any) -> Lane:
    """The index of an element, by axis from the right."""
    lane: Lane = {}
    for axis, n in enumerate(reversed(tuple(shape)), start=1):
        if n != 1:
            lane[axis] = place % n
        place //= n
    return lane


def at(value: Any, lane: Lane) -> Optional[int]:
    """What a number is in one lane; a mask as 0 or 1."""
    if isinstance(value, int):
        return value
    if isinstance(value, Both):
        return int(all(at(factor, lane) for factor in value.factors))
    if isinstance(value, Sum):
        return value.constant + sum(at(term, lane) or 0 for term in value.terms)
    data = value.data
    index = tuple(lane.get(len(data.shape) - i, 0) if n != 1 else 0 for i, n in enumerate(data.shape))
    return int(data[index])


def can_be_false(note: Any) -> bool:
    mask = note.mask
    if isinstance(mask, Unfollowed):
        return True
    if isinstance(mask, int):
        return not mask
    factors = mask.factors if hasattr(mask, "factors") else (mask,)
    return any(not bool(factor.data.all()) for factor in factors)

"""What a change does to the words of one line, and where in the reduced line that belongs."""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from shrinkray_gpu.same_fault.patch.alignment import same_words
from shrinkray_gpu.source.logical_lines import CLOSE, OPEN, kind, partners


class Misfit(Exception):
    """A part of the change has no place in the candidate, and why."""


@dataclass(frozen=True)
class Swap:
    """Words `old` of the original's line become words `new` of the changed line; either may be empty."""

    old: range
    new: range


@dataclass(frozen=True)
class WordSpan:
    """Our words from `low` to `high` give way; if there are none, the new ones belong to the word before or after."""

    low: int
    high: int
    behind: bool = False


def swaps(old: Sequence[str], new: Sequence[str]) -> tuple[tuple[Swap, ...], ...]:
    """In groups that go together or not at all: words that open brackets, and those that close them."""
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    middle = SequenceMatcher(None, old[head : len(old) - tail], new[head : len(new) - tail], autojunk=False)
    groups: list[tuple[Swap, ...]] = []
    group: list[Swap] = []
    for tag, i1, i2, j1, j2 in middle.get_opcodes():
        if tag == "equal":
            continue
        i1, i2, j1, j2 = i1 + head, i2 + head, j1 + head, j2 + head
        if tag == "insert" and i1 and j1 and new[j2 - 1] == "," == old[i1 - 1] == new[j1 - 1]:
            i1, i2, j1, j2 = i1 - 1, i2 - 1, j1 - 1, j2 - 1  # `, mask=m` after an argument, not `mask=m,` after a comma
        group.append(Swap(range(i1, i2), range(j1, j2)))
        if _balanced(old[x] for s in group for x in s.old) and _balanced(new[x] for s in group for x in s.new):
            groups.append(tuple(group))
            group = []
    return (*groups, tuple(group)) if group else tuple(groups)


def place(was: tuple[str, ...], now: tuple[str, ...], mine: tuple[str, ...], swap: Swap) -> WordSpan:
    """Where the swap belongs among our words of a line that was `was`. Raises Misfit."""
    at = same_words(was, mine)
    ends = {-1: -1, len(was): len(mine), **at}
    left, right = ends.get(swap.old.start - 1), ends.get(swap.old.stop)
    if swap.old:
        return _replaced(was, mine, at, swap.old, left, right)
    return _inserted(was, now, at, swap, left, right)


def _replaced(
    was: Sequence[str], mine: Sequence[str], at: Mapping[int, int], old: range, left: int | None, right: int | None
) -> WordSpan:
    """A word beside the replaced ones must be left, or all of them as they were."""
    targets = sorted(at[x] for x in old if x in at)
    taken = {j: i for i, j in at.items()}
    if targets and (left is not None or right is not None or all(x in at and was[x] == mine[at[x]] for x in old)):
        low, high = targets[0], targets[-1] + 1
    elif not targets and left is not None and right is not None and right - left > 1:
        low, high = left + 1, right
    else:
        raise Misfit(f"{' '.join(was[x] for x in old)!r} is gone")
    while left is not None and low > left + 1 and low - 1 not in taken:
        low -= 1
    while right is not None and high < right and high not in taken:
        high += 1
    if any(taken.get(j, old.start) not in old for j in range(low, high)):
        raise Misfit(f"the words around {' '.join(was[x] for x in old)!r} are in another order")
    return WordSpan(low, high)


def _inserted(
    was: Sequence[str], now: Sequence[str], at: Mapping[int, int], swap: Swap, left: int | None, right: int | None
) -> WordSpan:
    """A word beside the place must be left, and the nearest name or value on that side: brackets alone are anywhere."""
    start = swap.old.start
    first, last = now[swap.new.start], now[swap.new.stop - 1]
    known_left, known_right = _known(was, at, range(start - 1, -1, -1)), _known(was, at, range(start, len(was)))
    if left is not None and right == left + 1 and (known_left or known_right):
        return WordSpan(right, right, behind=right > 0 and not (_leads(last) and known_right))
    if left is not None and known_left and _follows(first):
        return WordSpan(left + 1, left + 1, behind=True)
    if right is not None and known_right and _leads(last):
        return WordSpan(right, right)
    if right is not None and first == "," and start < len(was) and was[start] in CLOSE:
        opening = partners(was).get(start, 0)  # one more argument of the same call, whatever became of the others
        if opening and kind(was[opening - 1]) == "name" and opening - 1 in at:
            return WordSpan(right, right, behind=True)
    raise Misfit(f"the words beside {' '.join(now[x] for x in swap.new)!r} are gone")


def _known(was: Sequence[str], at: Mapping[int, int], way: Iterable[int]) -> bool:
    return next((x in at for x in way if was[x][0].isalnum() or was[x][0] in "_\"'"), False)


def _follows(word: str) -> bool:
    """Whether what begins with this word belongs to the word before it."""
    return kind(word) == "mark" and word not in ("not", "lambda", "await", "~")


def _leads(word: str) -> bool:
    """Whether what ends in this word belongs to the word after it."""
    return kind(word) == "mark" and word not in CLOSE and (not keyword.iskeyword(word) or word in ("not", "return"))


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    return next((at for at, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))


def _balanced(found: Iterable[str]) -> bool:
    depth = 0
    for word in found:
        depth += (word in OPEN) - (word in CLOSE)
        if depth < 0:
            return False
    return depth == 0

"""Which line of the original a line of the reduced program was, and which word each of its words.

A reduction takes away, renames and dedents; it keeps the order. So both are alignments of sequences that keep the
order, and the best one has the most in common: equal words count fully, a name in the place of another name a little.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias

from shrinkray_gpu.source.logical_lines import kind, partners

Said: TypeAlias = "tuple[str, ...]"
"""The words of a line."""

ALIKE = 0.4
"""The least similarity of two lines that may be one and the same."""
MOVED = 0.6
"""The same for a line out of order, where its place tells nothing."""
BETTER = 0.2
"""By how much such a line must be more alike than the one in its place."""
_MARK = 0.2
"""What a bracket or an operator in common is worth, where a name is worth 1: all lines are full of them."""
_RENAMED = 0.3
_NEXT = 0.1
"""For pairs that follow each other, so that of two equal places the one beside what is known wins."""


def align(rows: int, columns: int, worth: Callable[[int, int], float]) -> tuple[float, tuple[tuple[int, int], ...]]:
    """The best alignment that keeps the order, and what it is worth. Pairs worth nothing are none."""
    best = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    ending = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    for i in range(1, rows + 1):
        above, here = best[i - 1], best[i]
        for j in range(1, columns + 1):
            score = above[j] if above[j] > here[j - 1] else here[j - 1]
            value = worth(i - 1, j - 1)
            if value > 0:
                before = ending[i - 1][j - 1]
                pair = value + max(above[j - 1], before + _NEXT if before else 0.0)
                ending[i][j] = pair
                score = max(score, pair)
            here[j] = score
    pairs = []
    i, j, follow = rows, columns, False
    while i and j:
        if ending[i][j] and (follow or best[i][j] == ending[i][j]):
            pairs.append((i - 1, j - 1))
            before = ending[i - 1][j - 1]
            follow = bool(before) and before + _NEXT > best[i - 1][j - 1]
            i, j = i - 1, j - 1
        elif best[i][j] == best[i - 1][j]:
            i -= 1
        else:
            j -= 1
    return best[rows][columns], tuple(reversed(pairs))


@lru_cache(maxsize=1 << 16)
def likeness(one: tuple[str, ...], other: tuple[str, ...]) -> float:
    """How much of two lines is in common, from 0 to 1, in whatever order."""
    if one == other:
        return 1.0
    (mine, weight, left), (theirs, other_weight, right) = _profile(one), _profile(other)
    if len(mine) > len(theirs):
        mine, theirs = theirs, mine
    shared, names, values = 0.0, 0, 0
    for word, count in mine.items():
        if word in theirs:
            count = min(count, theirs[word])
            shared += _weight(word) * count
            names += count * (kind(word) == "name")
            values += count * (kind(word) == "value")
    spare = right["name"] - names + right["value"] - values
    shared += _RENAMED * (min(left["name"] - names, spare) + min(left["value"], right["value"]) - values)
    return min(0.99, 2 * shared / (weight + other_weight))


@lru_cache(maxsize=1 << 13)
def _profile(line: tuple[str, ...]) -> tuple[Counter[str], float, Counter[str]]:
    """How often each word is there, their weight, and how often each kind is there."""
    return Counter(line), sum(map(_weight, line)), Counter(map(kind, line))


@lru_cache(maxsize=1 << 12)
def same_words(one: tuple[str, ...], other: tuple[str, ...]) -> dict[int, int]:
    """Which word of the other line each word of the one is. Brackets only in pairs."""

    def worth(i: int, j: int) -> float:
        a, b = one[i], other[j]
        if a == b:
            return _weight(a) + 0.1
        renamed = kind(a) == "name" and kind(b) != "mark"  # or its value put in its place
        return _RENAMED if renamed or kind(a) == kind(b) == "value" else 0.0

    found = dict(align(len(one), len(other), worth)[1])
    mine, theirs = partners(one), partners(other)
    return {i: j for i, j in found.items() if i not in mine or found.get(mine[i]) == theirs.get(j)}


def same_lines(
    one: Sequence[Said], other: Sequence[Said], *, apart: tuple[int, int] | None = None
) -> tuple[float, dict[int, int]]:
    """Which line of the other text each line of the one is, and what that is worth; `apart` must not be a pair.

    Lines that are there once in each text, and the same, hold the rest together. What a reduction moved (it inlines
    calls) is out of order: of the lines that are left over then, those that are most alike are one.
    """
    total, found = 0.0, {}
    i = j = 0
    for a, b in (*_fixed(one, other, apart), (len(one), len(other))):

        def worth(x: int, y: int, i: int = i, j: int = j) -> float:
            value = likeness(one[i + x], other[j + y])
            return value * value if value >= ALIKE and (i + x, j + y) != apart else 0.0

        score, pairs = align(a - i, b - j, worth)
        found.update({i + x: j + y for x, y in pairs})
        if a < len(one):
            found[a] = b
        total += score + 1
        i, j = a + 1, b + 1
    for a, b in _moved(one, other, found, apart):
        found = {x: y for x, y in found.items() if y != b}
        found[a] = b
        total += likeness(one[a], other[b]) ** 2
    return total, found


def _fixed(one: Sequence[Said], other: Sequence[Said], apart: tuple[int, int] | None) -> list[tuple[int, int]]:
    """Pairs of lines that are once in each text, as many as can be in order."""
    mine, theirs = Counter(one), Counter(other)
    places = {line: at for at, line in enumerate(other)}
    pairs = [(i, places[line]) for i, line in enumerate(one) if mine[line] == 1 and theirs[line] == 1]
    ends: list[int] = []
    chains: list[tuple[tuple[int, int], ...]] = []
    for pair in pairs:
        if pair != apart:
            at = bisect_left(ends, pair[1])
            ends[at : at + 1] = [pair[1]]
            chains[at : at + 1] = [((*chains[at - 1], pair) if at else (pair,))]
    return list(chains[-1]) if chains else []


def _moved(
    one: Sequence[Said], other: Sequence[Said], found: Mapping[int, int], apart: tuple[int, int] | None
) -> list[tuple[int, int]]:
    """Pairs out of order, the most alike first: of lines that are in no pair yet, or in one that is much less alike."""
    needed = {j: likeness(one[i], other[j]) + BETTER for i, j in found.items()}
    open_ours = [j for j in range(len(other)) if needed.get(j, 0.0) <= 1.0]
    left = [i for i in range(len(one)) if i not in found] if open_ours else []
    likes = [(likeness(one[i], other[j]), i, j) for i in left for j in open_ours if (i, j) != apart]
    pairs: list[tuple[int, int]] = []
    for value, i, j in sorted(likes, key=lambda each: (-each[0], *each[1:])):
        if value >= max(MOVED, needed.get(j, 0.0)) and all(i != a and j != b for a, b in pairs):
            pairs.append((i, j))
    return pairs


@lru_cache(maxsize=1 << 13)
def _weight(word: str) -> float:
    return 1.0 if word[0].isalnum() or word[0] in "_\"'" else _MARK

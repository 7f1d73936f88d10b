"""Search: which subset of a pass's Edits to try next. Pure: it makes proposals, is told answers, and runs nothing.

Probabilistic delta debugging (Wang, Shen, Chen, Xiong, Zhang: "Probabilistic Delta Debugging", ESEC/FSE 2021), made
parallel. Each edit has a chance of being *needed* by the fault, i.e. that it cannot be applied. The subset with the
greatest expected gain goes first; a refusal raises the chances of all its members. Plain counters do about as well
(arXiv 2408.04735), so a refused subset of n also limits its members to subsets of n/2 from then on: that alone bounds
the search, whatever the weights are.

Many subsets are in flight at once, all on top of the same accepted base; those that hold are merged afterwards, in the
order of proposal. Nothing here depends on time, so the same edits, answers, width and seed give the same course.

Late in a reduction a wave holds two or three proposals, since little is left to propose at once, and most of the lanes
would idle. So a search can be asked what it will propose next if all that is out is refused (`likely`): a copy of it is
told so. To go by the chances instead, and foresee successes too, was right half as often.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, prod
from typing import TypeAlias

from shrinkray_gpu.reduction.edit import Edit

Subset: TypeAlias = tuple[Edit, ...]

UNTRIED = 0.125
"""Chance of being needed of an edit that nothing is known about. The best first subset then has about 7 edits."""
LIKELY = 0.5
"""A whole level is proposed at once if it holds with at least this chance."""
PATIENCE = 3
"""How often a single edit may come back unknown before it is given up for this search."""


@dataclass(frozen=True)
class Wave:
    """Proposals to be tried at the same time, each on top of `base`. The test held for `base` (or it is empty)."""

    base: Subset
    proposals: tuple[Subset, ...]


@dataclass(frozen=True)
class SearchResult:
    """What a search ends with."""

    accepted: Subset
    """The test held for these together (not asked if empty)."""
    refused: Subset
    """Each failed alone, on top of what was accepted at that moment."""
    undecided: Subset
    """Only ever unknown."""


class Search:
    """Finds a large subset of `edits` that may be applied together: `next` gives a Wave of at most `width` proposals,
    `tell` takes one answer a proposal (True: the test holds, False, None: unknown), until `next` gives None.

    `edits` are in text order, alternatives for one node in order of preference.
    `render` tells whether two subsets come to the same thing: an edit that changes nothing (any more) is not tried.
    `effective` drops edits that conflict with an earlier one, so that no proposal holds two alternatives.
    `eager` is the price of a try that holds, in tries that do not. Where each fault spends a GPU context it is about
    20; then subsets are larger and fewer of them hold, so that there is less to merge.
    `rng` shakes the first chances a little, for users who want another course.
    """

    def __init__(
        self,
        edits: Iterable[Edit],
        *,
        render: Callable[[Sequence[Edit]], Hashable],
        effective: Callable[[Sequence[Edit]], Sequence[Edit]] = tuple,
        width: int = 8,
        prior: Callable[[Edit], float] = lambda edit: UNTRIED,
        eager: float = 1.0,
        rng: random.Random | None = None,
    ) -> None:
        shake = rng.uniform(0.8, 1.25) if rng else 1.0
        chances = {edit: min(0.99, max(0.001, prior(edit) * shake)) for edit in edits}
        self.render, self.effective, self.width, self.eager = render, effective, max(1, width), eager
        self.base: Subset = ()
        self.refused: list[Edit] = []
        self.undecided: list[Edit] = []
        self.pending = chances  # chance of being needed, in text order
        self.limit = dict.fromkeys(chances, len(chances))  # size of the largest subset it may still be part of
        self.patience = dict.fromkeys(chances, PATIENCE)
        self.failed: set[Hashable] = set()  # renderings that were refused
        self.unmerged: list[list[Subset]] = []  # groups of subsets, each of which held on top of a former base
        self.pruned: int | None = None  # the level whose vanished edits were dropped last
        self.out: tuple[tuple[Subset, ...], Mapping[Subset, list[Subset]]] = ((), {})  # proposals without answers yet

    @property
    def result(self) -> SearchResult:
        """What is known so far; all of it when `next` gave None."""
        return SearchResult(self.base, tuple(self.refused), tuple(self.undecided))

    def next(self) -> Wave | None:
        """What to try now; None when nothing is left to try."""
        while self.pending:
            merges = self.compose_merges()
            wave = (*merges, *self.compose_fresh(merges))
            if wave:
                self.out = wave, merges
                return Wave(self.base, wave)
        return None

    def tell(self, answers: Sequence[bool | None]) -> None:
        """The answers to the last Wave, in its order."""
        (wave, merges), self.out = self.out, ((), {})
        self.digest(wave, answers, merges)

    def likely(self) -> Iterator[Wave]:
        """The Waves that follow the one that is out if nothing is accepted, up to the end of this search."""
        ahead = self._copy()
        while True:
            ahead.tell([False] * len(ahead.out[0]))
            wave = ahead.next()
            if wave is None:
                return
            yield wave

    def _copy(self) -> Search:
        other = copy.copy(self)
        other.refused, other.undecided, other.unmerged = [*self.refused], [*self.undecided], [*self.unmerged]
        other.pending, other.limit, other.patience = {**self.pending}, {**self.limit}, {**self.patience}
        other.failed = {*self.failed}
        return other

    # Composing a wave

    def compose_merges(self) -> dict[Subset, list[Subset]]:
        """What held at the same time is to be merged: the union of each group, and of what it is the union."""
        merges: dict[Subset, list[Subset]] = {}
        todo, self.unmerged = self.unmerged, []
        while todo:
            group = todo.pop(0)
            union = self._fitting([edit for subset in group for edit in subset if edit in self.pending])
            seen = self.render(self.base + union)
            if len(merges) == self.width:
                self.unmerged.append(group)
            elif not union or seen == self.render(self.base):
                self._drop(edit for subset in group for edit in subset)  # alternatives of what was accepted
            elif seen not in self.failed:
                merges[union] = group
            elif len(group) > 1:
                todo[:0] = _halves(group)
            else:
                self._refuse(union)
        return merges

    def compose_fresh(self, merges: Iterable[Subset]) -> list[Subset]:
        """Disjoint subsets of what was not yet seen to hold, from the outermost level that is left.

        Where half of the lanes would idle, deeper levels lend what does not lie inside anything in the wave.
        """
        wave = list(merges)
        merging = len(wave)
        busy = {edit for group in (*self.unmerged, wave) for subset in group for edit in subset}
        for level in sorted({edit.level for edit in self.pending}):
            left = [edit for edit in self.pending if edit.level == level and edit not in busy]
            if len(wave) == merging:
                if self.base and self.pruned != level:  # accepted outer blocks take the edits inside them along
                    left = self._alive(left, self.base)
                    self.pruned = level
                self._carve(left, wave, self.width)
            elif len(wave) < self.width // 2:
                self._carve(self._alive(left, (*self.base, *_flat(wave))), wave, self.width // 2)
        return wave[merging:]

    def _carve(self, left: list[Edit], wave: list[Subset], width: int) -> None:
        """Add subsets of `left` to the wave.

        An alternative waits until all that are preferred to it were refused. Only where lanes would idle otherwise it
        goes beside them, if each is tried alone, so that the order of proposal is still the order of preference.
        """
        here = self.render(self.base)
        before = tuple(_flat(wave))
        fresh = len(wave)
        while left and len(wave) < width:
            fit = self._fitting(left, before)
            if not fit:
                if not before:  # all of them conflict with what is accepted
                    self._drop(left)
                return
            rest = tuple(sorted(fit, key=lambda edit: round(self.pending[edit], 9)))  # text order on equal chance
            cap = self._cap(rest)
            while rest and len(wave) < width:
                size = self._best_size(rest, cap)
                subset, rest = rest[:size], rest[size:]
                seen = self.render(self.base + subset)
                if seen == here:
                    self._drop(subset)
                elif seen in self.failed:
                    self._refuse(subset)
                else:
                    wave.append(subset)
            if len(wave) > fresh and (self.eager > 1 or any(len(subset) > 1 for subset in wave[fresh:])):
                return
            fitting = set(fit)
            left = [edit for edit in left if edit not in fitting]

    def _fitting(self, edits: Sequence[Edit], beside: Sequence[Edit] = ()) -> Subset:
        """Those of `edits` that conflict neither with the base, nor with `beside`, nor with an earlier one."""
        kept = set(self.effective((*self.base, *beside, *edits)))
        return tuple(edit for edit in edits if edit in kept)

    def _cap(self, edits: Subset) -> int:
        """Fill half a wave at least, unless all at once is likely, or successes are too dear to have many of them."""
        if self.eager > 1 or prod(1 - self.pending[edit] for edit in edits) >= LIKELY:
            return len(edits)
        return ceil(len(edits) / max(1, self.width // 2))

    def _best_size(self, edits: Subset, cap: int) -> int:
        """Size of the prefix with the greatest expected gain for its expected price."""
        holds, gain, best, size = 1.0, 0, -1.0, 1
        limit = cap
        for count, edit in enumerate(edits[:cap], start=1):
            limit = min(limit, self.limit[edit])
            if count > limit:
                break
            holds *= 1 - self.pending[edit]
            gain += max(1, edit.weight)
            value = gain * holds / (1 - holds + self.eager * holds)
            if value > best:
                best, size = value, count
        return size

    def _alive(self, edits: list[Edit], base: Sequence[Edit]) -> list[Edit]:
        """Those that still change something on top of `base`; the others are dropped if it is the accepted base. Whole
        groups are settled by one rendering each."""
        if not edits or self.render((*base, *edits)) == self.render(base):
            if base is self.base:
                self._drop(edits)
            return []
        if len(edits) == 1:
            return edits
        half = len(edits) // 2
        return self._alive(edits[:half], base) + self._alive(edits[half:], base)

    # Learning from answers

    def digest(
        self, wave: Sequence[Subset], answers: Sequence[bool | None], merges: Mapping[Subset, list[Subset]]
    ) -> None:
        """Accept the first proposal that held. The others that did are merged in the next wave, beside fresh ones; a
        group that does not go together is folded by halves, in order."""
        held: list[Subset] = []
        apart: list[list[Subset]] = []
        for subset, answer in zip(wave, answers, strict=True):
            group = merges.get(subset, [subset])
            if answer is False:
                self.failed.add(self.render(self.base + subset))
            if answer:
                held.append(subset)
            elif len(group) > 1:
                apart += _halves(group)
            elif answer is None:
                self._shrug(subset)
            else:
                self._refuse(subset)
        if held:
            self._accept(held[0])
        self.unmerged = [*([held[1:]] if held[1:] else []), *apart, *self.unmerged]

    def _accept(self, subset: Subset) -> None:
        self.base += subset
        self._drop(subset)

    def _refuse(self, subset: Subset) -> None:
        if len(subset) == 1:
            self.refused += subset
            self._drop(subset)
            return
        lost = 1 - prod(1 - self.pending[edit] for edit in subset)
        for edit in subset:
            self.pending[edit] = min(0.99, self.pending[edit] / lost)
        self._halve(subset)

    def _shrug(self, subset: Subset) -> None:
        """Unknown: nothing is learnt about the chances. Smaller subsets next (it may have been a time limit)."""
        if len(subset) > 1:
            self._halve(subset)
            return
        (edit,) = subset
        self.patience[edit] -= 1
        if self.patience[edit] <= 0:
            self.undecided.append(edit)
            self._drop(subset)

    def _halve(self, subset: Subset) -> None:
        for edit in subset:
            self.limit[edit] = max(1, min(self.limit[edit], len(subset) // 2))

    def _drop(self, edits: Iterable[Edit]) -> None:
        for edit in edits:
            self.pending.pop(edit, None)


def _flat(subsets: Iterable[Subset]) -> list[Edit]:
    return [edit for subset in subsets for edit in subset]


def _halves(group: list[Subset]) -> list[list[Subset]]:
    return [group[: len(group) // 2], group[len(group) // 2 :]]


class Memory:
    """How well edits of each kind went so far: the chances that the next search starts with.

    Kinds are told apart by pass and by the first two words of `Edit.what`: `remove function timing` and `remove
    function loss` are of a kind. Old counts fade: what could go early is gone, and what is left is mostly needed.
    """

    def __init__(self) -> None:
        self._applied: dict[tuple[str, str], float] = {}
        self._refused: dict[tuple[str, str], float] = {}

    def prior(self, pass_name: str, edit: Edit) -> float:
        kind = (pass_name, _kind(edit))
        applied, refused = self._applied.get(kind, 0.0), self._refused.get(kind, 0.0)
        return min(0.8, max(0.02, (refused + 1) / (applied + refused + 1 / UNTRIED)))

    def learn(self, pass_name: str, result: SearchResult) -> None:
        for counts, edits in ((self._applied, result.accepted), (self._refused, result.refused)):
            for kind in counts:
                if kind[0] == pass_name:
                    counts[kind] *= 0.5
            for edit in edits:
                kind = (pass_name, _kind(edit))
                counts[kind] = counts.get(kind, 0.0) + 1


def _kind(edit: Edit) -> str:
    return " ".join(edit.what.split()[:2])

"""Foresight: the candidates that will most likely be asked for next, for lanes that would idle.

Late in a reduction a wave has two or three proposals, and a GPU sixteen lanes. Most tries are refused then, so what
comes after the wave that is out is known well: the same search goes on, and when it ends, the next passes begin theirs
on the same program. Nothing that is foreseen changes the course: an answer counts when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

from shrinkray_gpu.reduction.edit import Edit
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.search import Search

Draw: TypeAlias = Callable[[Sequence[Edit]], Program]
"""The program after these edits."""


def likely(search: Search, draw: Draw, following: Iterable[tuple[Search, Draw]]) -> Iterator[Program]:
    """Candidates in the order in which they would be asked for, as long as nothing is accepted: those of the search
    whose wave is out, then those of the searches `following` (lazily: to begin one takes its pass's edits)."""
    for wave in search.likely():
        yield from (draw(wave.base + proposal) for proposal in wave.proposals)
    if search.base:
        return
    for later, begin in following:
        if (first := later.next()) is not None:
            yield from (begin(proposal) for proposal in first.proposals)
            for wave in later.likely():
                yield from (begin(wave.base + proposal) for proposal in wave.proposals)

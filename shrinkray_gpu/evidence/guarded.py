"""Whether a repro is guarded in its text: no mask, bound or initialised input is missing.

A mask that is there may still let everything through: what it keeps out only a run could tell, and nobody asks one.

A maintainer asks first whether the program itself is at fault. The places are those that make up the guard level of a
Program's size, which the search keeps down; here they are told with their lines, beside those of the original.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.size import Lack, exposures

_LIBRARIES = re.compile(r"\b(?:torch|triton)\b")


class UnguardedPlace(NamedTuple):
    """A place where the program may be undefined by itself."""

    line: int
    lack: Lack
    module: str = ""
    """Path of the local module that it is in; empty for the script."""

    @property
    def what(self) -> str:
        return self.lack.value

    def __str__(self) -> str:
        return f"{self.what} at {self.module + ', ' * bool(self.module)}line {self.line}"


def unguarded_places(program: Program) -> tuple[UnguardedPlace, ...]:
    """Each place that lacks a guard, in the order of the text."""
    return tuple(
        UnguardedPlace(place.line, place.lack, region.path if number else "")
        for number, region in enumerate(program.regions)
        for place in exposures(region.text)
    )


def report(
    original: Program,
    repro: Program,
    *,
    named: str = "original",
    unread: Sequence[str] = (),
) -> str:
    """One or two sentences for the summary: what is guarded, what is not, and whether the original was. Nothing of a
    program without tensors or kernels, which has nothing to guard.

    `named`: what `original` is called, where that is another text than the user's. `unread`: modules that the repro
    imports, where kernels may be that nobody looks at."""
    places = unguarded_places(repro)
    if not places and not any(_LIBRARIES.search(region.text) for region in repro.regions):
        return ""
    if not places:
        where = f"; {', '.join(unread)}, which it imports, was not looked at" if unread else ""
        return f"guarded, as far as the text shows: no mask, bound or initialised input is missing{where}"
    before, now = lacking(original), lacking(repro)
    told = "; ".join(_told(lack, [place for place in places if place.lack is lack]) for lack in now)
    same = [lack.value for lack in now if before[lack] >= now[lack]]
    worse = [f"{lack.value} ({before[lack] or 'none'} there)" for lack in now if before[lack] < now[lack]]
    if not worse:
        return f"not guarded: {told}. The {named} lacks the same"
    of_which = f" lacks the same except for {', '.join(worse)}" if same else f" is better guarded: {', '.join(worse)}"
    return f"not guarded: {told}. The {named}{of_which}; the search found no smaller program that keeps the guard"


def lacking(program: Program) -> Counter[Lack]:
    """How many places lack which guard."""
    return Counter(place.lack for place in unguarded_places(program))


def _told(lack: Lack, places: list[UnguardedPlace]) -> str:
    lines = [f"{place.module + ':' * bool(place.module)}{place.line}" for place in places]
    if len(lines) == 1:
        return f"{lack.value} at line {lines[0]}"
    return f"{lack.value} at lines {', '.join(lines[:-1])} and {lines[-1]}"

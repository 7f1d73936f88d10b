"""The search: families of changes, each tried in big sets first and then in halves, until none makes it smaller.

Why a loop of its own: the engine for Python programs judges in lanes, with controls and credit, since a try there takes
a second and may disturb the next. A try here takes milliseconds in a process of its own, and its answer is exact.

It knows no language: a `TextForm` says how a module is written and what makes it smaller.
"""

from __future__ import annotations

import hashlib
import math
import random
import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

M = TypeVar("M")
"""A module of some language."""


@dataclass(frozen=True)
class TextForm(Generic[M]):
    """A language, as far as the search must know it."""

    write: Callable[[M], str]
    size: Callable[[M, str], tuple[int, ...]]
    """What the search makes smaller, of a module and its text; what weighs most comes first."""


@dataclass(frozen=True)
class Family(Generic[M]):
    """Changes of one kind. `find` names them, by keys that stay as other changes are made; `apply` makes some of them,
    and leaves out those whose place is gone."""

    name: str
    find: Callable[[M], Iterable[Hashable]]
    apply: Callable[[M, Sequence[Any]], M]
    alone: bool = False
    """Whether its changes exclude each other: one at a time."""


@dataclass
class IrTally:
    """What a search did."""

    tries: int = 0
    parsed: int = 0
    accepted: int = 0
    broken: int = 0
    """Changes that no candidate came of, since the code that makes them raised an exception: a bug of ours."""
    by_family: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    """Tries, those that parse, and those accepted."""

    @property
    def share(self) -> float:
        """Of the tries, those that parse; 1 where there were none."""
        return self.parsed / self.tries if self.tries else 1.0

    def note(self, family: str, parsed: bool, accepted: bool) -> None:
        self.tries += 1
        self.parsed += parsed
        self.accepted += accepted
        tries, good, taken = self.by_family.get(family, (0, 0, 0))
        self.by_family[family] = (tries + 1, good + parsed, taken + accepted)


class IrSearch(Generic[M]):
    """One search over one module."""

    def __init__(
        self,
        form: TextForm[M],
        test: Callable[[M, str], tuple[bool, bool]],
        families: Sequence[Family[M]],
        *,
        until: float,
        seed: int = 0,
        jobs: int = 1,
        coarse: int = 0,
        stop: Callable[[], bool] = lambda: False,
        shown: Callable[[M, IrTally], None] = lambda module, tally: None,
    ) -> None:
        """`test` says of a module and its text whether it parses and whether it shows the fault; `until` is a time on
        the monotonic clock; `seed` 0 keeps the order of the text; so many `jobs` are tested at a time, by threads, and
        the result is the same for any number; where `coarse` is given, no set is first smaller than this part of all,
        which pays where a try is dear at the beginning; `shown` is called with each smaller module."""
        self.form, self.test, self.families, self.until = form, test, families, until
        self.stop, self.shown, self.jobs, self.coarse = stop, shown, jobs, coarse
        self.order = random.Random(seed) if seed else None
        self.tally = IrTally()
        self.seen: set[bytes] = set()
        """Digests of the texts that were tested."""
        self.size: tuple[int, ...] = ()
        self.ended = "done"
        """`done`, `stopped` or `out of time`."""

    def over(self) -> bool:
        if self.stop():
            self.ended = "stopped"
        elif time.monotonic() >= self.until:
            self.ended = "out of time"
        return self.ended != "done"

    def run(self, module: M) -> M:
        """The smallest module found."""
        self.size = self.form.size(module, self.form.write(module))
        with ThreadPoolExecutor(self.jobs) as threads:
            for parts in filter(None, (self.coarse, math.inf)):
                before = None
                while before is not module and not self.over():
                    before = module
                    for family in self.families:
                        module = self._family(module, family, threads, parts)
        return module

    def _family(self, module: M, family: Family[M], threads: ThreadPoolExecutor, parts: float) -> M:
        items = list(family.find(module))
        if self.order is not None:
            self.order.shuffle(items)
        width = 1 if family.alone else len(items)
        least = 1 if family.alone else max(1, len(items) // parts)
        while width >= least and items and not self.over():
            at = len(items)
            while at > 0 and not self.over():
                ends = range(at, 0, -width)[: self.jobs]
                sets = [items[max(0, end - width) : end] for end in ends]
                number, smaller = self._first(module, family, sets, threads)
                if smaller is not None:
                    module = smaller
                    items = [*items[: max(0, ends[number] - width)], *items[ends[number] :]]
                at = ends[number] - width
            width //= 2
        return module

    def _first(
        self, module: M, family: Family[M], sets: Sequence[Sequence[Any]], threads: ThreadPoolExecutor
    ) -> tuple[int, M | None]:
        """The number of the first set without which the module shows the fault, and that module; else the last number,
        and None. What was begun ahead, behind the first one, counts as not tried."""
        made = [self._candidate(module, family, chosen) for chosen in sets]
        begun = [threads.submit(self.test, each[0], each[1]) if each is not None else None for each in made]
        for number, (each, task) in enumerate(zip(made, begun)):
            if each is None or task is None:
                continue
            candidate, text, smaller = each
            self.seen.add(_digest(text))
            parsed, faults = task.result()
            self.tally.note(family.name, parsed, faults)
            if faults:
                self.size = smaller
                self.shown(candidate, self.tally)
                return number, candidate
        return len(sets) - 1, None

    def _candidate(self, module: M, family: Family[M], chosen: Sequence[Any]) -> tuple[M, str, tuple[int, ...]] | None:
        """A smaller module that was not tested yet, its text and its size."""
        try:
            candidate = family.apply(module, chosen)
            if candidate is module:
                return None
            text = self.form.write(candidate)
        except Exception:  # one change that cannot be made takes nothing from the others
            self.tally.broken += 1
            return None
        if _digest(text) in self.seen:
            return None
        smaller = self.form.size(candidate, text)
        return (candidate, text, smaller) if smaller < self.size else None


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=16).digest()

"""The search: families of changes, each tried in big sets first and then in halves, until none makes it smaller.

Why a loop of its own: the engine for Python programs judges in lanes, with controls and credit, since a try there takes
a second and may disturb the next. A try here takes milliseconds in a fork of its own, and its answer is exact.
"""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from shrinkray_gpu.intermediate.generic_text import write
from shrinkray_gpu.intermediate.model import IrModule, blocks, count, every


@dataclass(frozen=True)
class Family:
    """Changes of one kind. `find` names them, by keys that stay as other changes are made; `apply` makes some of them,
    and leaves out those whose place is gone."""

    name: str
    find: Callable[[IrModule], Iterable[Hashable]]
    apply: Callable[[IrModule, Sequence[Any]], IrModule]
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

    def note(self, family: str, parsed: bool, accepted: bool) -> None:
        self.tries += 1
        self.parsed += parsed
        self.accepted += accepted
        tries, good, taken = self.by_family.get(family, (0, 0, 0))
        self.by_family[family] = (tries + 1, good + parsed, taken + accepted)


def size(module: IrModule, text: str) -> tuple[int, int, int, int]:
    """What the search makes smaller: operations, then arguments of blocks, blocks, and characters of its text."""
    inside = list(blocks(module.top))
    return (
        sum(1 for _ in every(module.top)) + count(module),
        sum(len(block.arguments) for block in inside),
        len(inside),
        len(text),
    )


class IrSearch:
    """One search over one module."""

    def __init__(
        self,
        test: Callable[[str], tuple[bool, bool]],
        families: Sequence[Family],
        *,
        until: float,
        seed: int = 0,
        stop: Callable[[], bool] = lambda: False,
        shown: Callable[[IrModule, IrTally], None] = lambda module, tally: None,
    ) -> None:
        """`test` says of a text whether it parses and whether it shows the fault; `until` is a time on the monotonic
        clock; `seed` 0 keeps the order of the text; `shown` is called with each smaller module."""
        self.test, self.families, self.until, self.stop, self.shown = test, families, until, stop, shown
        self.order = random.Random(seed) if seed else None
        self.tally = IrTally()
        self.seen: set[bytes] = set()
        """Digests of the texts that were tested."""
        self.size = (0, 0, 0, 0)
        self.ended = "done"
        """`done`, `stopped` or `out of time`."""

    def over(self) -> bool:
        if self.stop():
            self.ended = "stopped"
        elif time.monotonic() >= self.until:
            self.ended = "out of time"
        return self.ended != "done"

    def run(self, module: IrModule) -> IrModule:
        """The smallest module found."""
        before = None
        self.size = size(module, write(module))
        while before is not module and not self.over():
            before = module
            for family in self.families:
                module = self._family(module, family)
        return module

    def _family(self, module: IrModule, family: Family) -> IrModule:
        items = list(family.find(module))
        if self.order is not None:
            self.order.shuffle(items)
        width = 1 if family.alone else len(items)
        while width and items and not self.over():
            at = len(items)
            while at > 0 and not self.over():
                chosen = items[max(0, at - width) : at]
                smaller = self._tried(module, family, chosen)
                if smaller is not None:
                    module = smaller
                    items = [*items[: max(0, at - width)], *items[at:]]
                at -= width
            width //= 2
        return module

    def _tried(self, module: IrModule, family: Family, chosen: Sequence[Any]) -> IrModule | None:
        try:
            candidate = family.apply(module, chosen)
            if candidate is module:
                return None
            text = write(candidate)
        except Exception:  # one change that cannot be made takes nothing from the others
            self.tally.broken += 1
            return None
        digest = hashlib.blake2b(text.encode(), digest_size=16).digest()
        if digest in self.seen:
            return None
        smaller = size(candidate, text)
        if smaller >= self.size:
            return None
        self.seen.add(digest)
        parsed, faults = self.test(text)
        self.tally.note(family.name, parsed, faults)
        if not faults:
            return None
        self.size = smaller
        self.shown(candidate, self.tally)
        return candidate

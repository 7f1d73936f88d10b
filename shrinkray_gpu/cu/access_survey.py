"""The accesses of a whole run that are wrong, and which of them a GPU ends a kernel for.

Each beside memory is one for memcheck. But a GPU maps memory by pages of 2 MiB, as `on_cpu/pages.hpp` tells: a kernel
that reads a little beyond its buffer ends well there. Where nobody knows whether memory is mapped, the GPU is asked.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from shrinkray_gpu.oracle.verdict import Verdict, lacks, shows, unclear


@dataclass(frozen=True)
class Survey:
    """Of one run. A sort is `global read of 4 bytes near`."""

    sorts: frozenset[str]
    perhaps: frozenset[str] = frozenset()
    """Of them those that may end a kernel."""
    ending: frozenset[str] = frozenset()
    """Those that do."""
    seconds: float = field(default=0.0, compare=False)
    """Of the run."""

    def verdict(self, original: Survey) -> Verdict:
        """Whether no other access is wrong than in the original, and whether a GPU sees one that it saw there."""
        if more := self.sorts - original.sorts:
            return lacks(f"another access is wrong: {next(iter(more))}")
        wanted = original.ending or original.perhaps
        if not wanted or self.ending & wanted or not original.ending and self.perhaps & wanted:
            return shows("its accesses are those of the original")
        if self.perhaps & wanted:
            return unclear("nobody knows whether a GPU has memory where it is accessed")
        return lacks("a GPU has memory wherever it is accessed")


def read_survey(lines: Iterable[str]) -> Survey | None:
    """What the machine wrote; None where that was something else."""
    found: tuple[set[str], set[str], set[str]] = set(), set(), set()
    for line in lines:
        reach, _, sort = line.partition("\t")
        if reach not in ("0", "1", "2") or not sort:
            return None
        found[int(reach)].add(sort)
    mapped, perhaps, ending = map(frozenset, found)
    return Survey(mapped | perhaps | ending, perhaps, ending)

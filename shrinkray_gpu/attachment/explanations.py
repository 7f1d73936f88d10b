"""What a static rule lets the issue explain, by the rule's name. A rule without an entry here explains nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

from shrinkray_gpu.attachment.experiments import Experiment, KnobResults
from shrinkray_gpu.attachment.tma_alignment import MisalignedCopy
from shrinkray_gpu.runner.inside.static import tma


class Explanation(Protocol):
    """One broken rule, read from its reason."""

    def address(self) -> Iterator[tuple[str, str, str]]:
        """Rows of the table of the address: what, its value, what that rests on."""

    def resized(self, row: KnobResults, one: Experiment) -> str:
        """What the access is with this experiment's value, in brackets; empty where that changes nothing of it."""

    def hypothesis(self, rows: Sequence[KnobResults]) -> Iterator[str]:
        """What would explain the experiments, and how they bear it out."""


EXPLANATIONS: Mapping[str, Callable[[str], Explanation | None]] = {tma.RULE.name: MisalignedCopy.of}

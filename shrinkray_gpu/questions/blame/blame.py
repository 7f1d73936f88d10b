"""What is told of whose fault it is: one word of a closed list, and the evidence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from shrinkray_gpu.questions.blame.experiments import Tried

HOST, KERNEL, DATA = "host program", "kernel source", "data"
FRONT_END, PASS, LLVM, PTXAS = "front end", "compiler pass", "LLVM", "ptxas"
BELOW, DEVICE = "compiler or below", "driver or hardware"
UNKNOWN = "not known"
WHOSE = (HOST, KERNEL, DATA, FRONT_END, PASS, LLVM, PTXAS, BELOW, DEVICE, UNKNOWN)
"""All that `verdict.whose` may be. What is told is shown by evidence; where two are as likely it is `not known`."""


@dataclass(frozen=True)
class Blame:
    """Whose fault it is."""

    whose: str
    why: str
    """The evidence, or why it is not known."""
    by: str = ""
    """Who tells: Triton's IR, the front end, the compiler's own words."""
    place: str = ""
    """`file.py:12`, where that is known."""
    named: str = ""
    """The compiler pass that fails."""
    enough: str = ""
    """The smallest change that was shown to be enough, with the proof."""
    tried: Tried = Tried()
    """Experiments on the compiler."""
    next: tuple[str, ...] = ()
    """Experiments that would tell more."""

    def __post_init__(self) -> None:
        assert self.whose in WHOSE, self.whose

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def rows(self) -> Iterator[tuple[str, str]]:
        """Labels and facts, as on the card."""
        whose = f"{self.whose} {self.named}" if self.named else self.whose
        at = f" at {self.place}" if self.place else ""
        by = f" (by {self.by})" if self.by else ""
        yield "verdict", f"{whose}{at}{by}: {self.why}"
        if self.enough:
            yield "enough", self.enough
        yield from self.tried.rows()
        for each in self.next:
            yield "next", each


def unknown(why: str, *then: str) -> Blame:
    return Blame(UNKNOWN, why, next=then)

"""What is told of whose fault it is: one word of a closed list, and the evidence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from shrinkray_gpu.questions.blame.experiments import Tried

HOST, KERNEL, DATA = "host program", "kernel source", "data"
FRONT_END, PASS, LLVM, PTXAS = "front end", "compiler pass", "LLVM", "ptxas"
BELOW, DEVICE = "compiler or below", "driver or hardware"
UNKNOWN = "not known"
WHOSE = (HOST, KERNEL, DATA, FRONT_END, PASS, LLVM, PTXAS, BELOW, DEVICE, UNKNOWN)
"""All that `verdict.whose` may be. What is told is shown by evidence; where two are as likely it is `not known`."""

NOT_UPSTREAM = "an error of the program, and no bug of Triton, PyTorch or NVIDIA: there is nothing to report there"
REFUSED = (
    "an error of the program, as far as this release tells: it is refused by a rule, and another release may have "
    "another one"
)
_REFUSING = ("Triton's front end", "ptxas")
"""Who tells by a rule of its own, and not by what the program does."""


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
    line: str = ""
    """The program's line where it shows, for a verdict without a place. A reduction tells it."""
    named: str = ""
    """The compiler pass that fails."""
    reached: str = ""
    """The lines of the program that lead to the fault, the outermost first."""
    enough: str = ""
    """The smallest change that was shown to be enough, with the proof."""
    tried: Tried = Tried()
    """Experiments on the compiler."""
    next: tuple[str, ...] = ()
    """Experiments that would tell more."""

    def __post_init__(self) -> None:
        assert self.whose in WHOSE, self.whose

    @property
    def of_program(self) -> bool:
        """Whether the program itself is wrong, by the evidence. Of data nobody knows who made them."""
        return self.whose in (HOST, KERNEL)

    @property
    def upstream(self) -> str:
        """That it is nobody else's bug, where the program itself is wrong; else empty."""
        if not self.of_program:
            return ""
        return REFUSED if self.by.startswith(_REFUSING) else NOT_UPSTREAM

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "upstream": self.upstream}

    def brief(self) -> dict[str, str]:
        """Labels and facts, as a reduction tells them: the verdict without experiments."""
        rows = replace(self, tried=Tried(), next=()).rows()
        return dict(rows)

    def rows(self) -> Iterator[tuple[str, str]]:
        """Labels and facts, as on the card."""
        whose = f"{self.whose} {self.named}" if self.named else self.whose
        at = f" at {self.place}" if self.place else ""
        by = f" (by {self.by})" if self.by else ""
        yield "verdict", f"{whose}{at}{by}: {self.why}"
        if self.line and not self.place:
            yield "line", self.line
        if self.reached:
            yield "reached", self.reached
        if self.upstream:
            yield "upstream", self.upstream
        if self.enough:
            yield "enough", self.enough
        yield from self.tried.rows()
        for each in self.next:
            yield "next", each


def unknown(why: str, *then: str) -> Blame:
    return Blame(UNKNOWN, why, next=then)

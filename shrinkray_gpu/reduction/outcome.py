"""What a reduction is told of a pass, what it reports on its way, and what it ends with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from shrinkray_gpu.oracle.verdict import Verdict
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.reduction.spending import PassCost

HearVerdict = Callable[[Program, Verdict], None]


class PassLike(Protocol):
    """What the engine asks of a pass."""

    @property
    def name(self) -> str: ...
    @property
    def find(self) -> Callable[..., Any]: ...
    @property
    def grows(self) -> bool: ...
    @property
    def needs_values(self) -> bool: ...
    @property
    def stage(self) -> int: ...


@dataclass(frozen=True)
class ProgressEvent:
    """Something that a progress bar may show."""

    kind: Literal["round", "pass", "tried", "accepted", "rolled back", "note"]
    program: Program
    """The program as it is now."""
    round: int = 0
    pass_name: str = ""
    tries: int = 0
    """Candidates handed to the interestingness test so far."""
    free: Mapping[str, int] = field(default_factory=dict)
    """Candidates settled without a run so far, by reason."""
    text: str = ""


@dataclass(frozen=True)
class Listeners:
    """Who hears what a reduction reports on its way."""

    progress: Callable[[ProgressEvent], None] = lambda event: None
    other_fault: HearVerdict = lambda program, verdict: None
    """Hears of each candidate with another fault."""


@dataclass(frozen=True)
class SearchCost:
    """What the search took."""

    tries: int
    free: Mapping[str, int]
    """Candidates settled without a run, by reason."""
    accepted: int
    credited: int
    """Of the accepted steps, those that took no run of their own in a lane."""
    rounds: int
    passes: Mapping[str, PassCost]
    """By name."""


@dataclass(frozen=True)
class CheckResults:
    """What the checks beside the search found."""

    rollbacks: int
    """How often a confirmation took the course back."""
    verified: Program
    """The last program that a cold run confirmed (the start, if none did)."""
    shown: Program | None = field(default=None, compare=False)
    """The last program that a cold run of this course showed, in this very text; None where none did. What a resumed
    course recalled is no run of it, so this alone differs there."""
    control_checks: int = 0
    """How often the controls were asked in this course, replayed answers among them."""
    control_slips: int = 0
    """How often they refused a step: taken back, or not taken."""
    controls: Verdict | None = None
    """What they said of the result; None where they were not asked, or the search ended before they answered."""
    fingerprint_slips: tuple[str, ...] = ()
    """Why, for each time that the full fingerprint was another."""
    last_same: Program | None = None
    """The last program with the fingerprint of the original, which is the start if no other was seen; None where no
    fingerprints were taken."""


@dataclass(frozen=True)
class Reduction:
    """What is left, and what it took."""

    program: Program
    ended: Literal["done", "stopped", "out of time", "stopped early", "interrupted"]
    line: tuple[Program, ...]
    """The start and all that was accepted after it and not taken back, in this order."""
    cost: SearchCost
    checks: CheckResults
    early: str = ""
    """Why a search that was stopped early did not go on."""

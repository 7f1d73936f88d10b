"""What is asked of accepted programs beside the search, how often, and what follows from the answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from shrinkray_gpu.oracle.verdict import Verdict
from shrinkray_gpu.reduction.checks.question import StartCheck


@dataclass(frozen=True)
class ConfirmationPlan:
    """Is the "yes" of the interestingness test true in a fresh process too?"""

    cold: StartCheck | None = None
    """Starts a cold run: one for every `interval` candidates, and one at the end. None: nothing is confirmed."""
    probe: StartCheck | None = None
    """Starts a quicker confirmation, which stands in for all cold runs but the last; None where there is none."""
    interval: int = 200
    wary: bool = False
    """From the beginning no "yes" counts before a confirmation says so as well."""
    doubted: Callable[[], None] | None = None
    """Makes the test look closer, when a confirmation refutes it for the first time."""


@dataclass(frozen=True)
class ControlPlan:
    """Does each control that made the original pass make the accepted program pass too?"""

    ask: StartCheck
    """Faults: the program is still good. Passes: a control that made the original pass does not make this one pass."""
    lag: int = 0
    """The answer is looked at when the pass has ended and so many more candidates came: nobody waits for it."""


@dataclass(frozen=True)
class FingerprintPlan:
    """Is it still the same fault, by all that the dear instruments see?"""

    ask: StartCheck
    """Passes: it is another."""
    first: int | None = None
    """Candidates before the first fingerprint; the intervals grow from there. None: as many as is usual."""
    drifted: Callable[[Verdict], None] = lambda verdict: None
    """Tightens the interestingness test by the verdict that found another fault."""


@dataclass(frozen=True)
class CheckPlan:
    """The checks of one course. None: there is no such check."""

    confirmation: ConfirmationPlan = ConfirmationPlan()
    controls: ControlPlan | None = None
    fingerprint: FingerprintPlan | None = None

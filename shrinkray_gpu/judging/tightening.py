"""What a drift taught: a test may be made stricter while it is in use, and never looser."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from shrinkray_gpu.oracle.verdict import Verdict
from shrinkray_gpu.runner.run import Run

Check = Callable[[str, Run], Verdict | None]
"""Asked after a lane or cold run that shows the fault, with the candidate's text and that run (the first that shows it,
of a flaky fault). The Verdict that it returns, if any, replaces the "yes"."""


@dataclass(frozen=True)
class Tightening:
    """What a "yes" must pass besides the oracle."""

    checks: tuple[Check, ...] = ()
    wants: tuple[str, ...] = ()
    """IR stages that the checks read in a run."""
    begin: Callable[[Run], None] | None = None
    """Told the dry run of a candidate that goes on to a lane, with its machine code if it made any, so that what the
    checks will ask of it is begun."""

    def __add__(self, other: Tightening) -> Tightening:
        """Both of them: what the checks of the first see, those of the other need not."""
        checks = (*self.checks, *(check for check in other.checks if check not in self.checks))
        wants = tuple(sorted({*self.wants, *other.wants}))
        return Tightening(checks, wants, self.begin or other.begin)

    def refute(self, text: str, run: Run) -> Verdict | None:
        """What the first check that has something against this run says."""
        verdicts = (check(text, run) for check in self.checks)
        return next((verdict for verdict in verdicts if verdict is not None), None)

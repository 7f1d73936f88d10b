"""One text on its way through the tiers, with what the cheaper ones found out for the dearer ones."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass

from shrinkray_gpu.judging.policy import Policy
from shrinkray_gpu.oracle.verdict import Verdict
from shrinkray_gpu.runner.request import Request
from shrinkray_gpu.runner.run import Run


@dataclass(frozen=True)
class DryRun:
    """A dry run that told of its launches, and what the oracle says of it."""

    run: Run
    verdict: Verdict


@dataclass(frozen=True)
class Candidate:
    """A text as the user runs it, and the policy by which it is judged."""

    request: Request
    policy: Policy
    begun: Future[Run] | None = None
    """Its dry run, where that was begun ahead."""
    dry_run: DryRun | None = None
    """None where no dry run was made, or it told nothing."""

    @property
    def text(self) -> str:
        return self.request.source

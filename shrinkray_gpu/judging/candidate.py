"""One text on its way through the tiers, with what the cheaper ones found out for the dearer ones."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass

from shrinkray_gpu.oracle.verdict import Verdict
from shrinkray_gpu.runner.run import Run


@dataclass(frozen=True)
class Foreseen:
    """A dry run that told of its launches, and what the oracle says of it."""

    run: Run
    verdict: Verdict


class Candidate:
    """`dried`: its dry run, if that was begun ahead. Used by one thread at a time."""

    def __init__(self, text: str, dried: Future[Run] | None = None) -> None:
        self.text = text
        self._dried = dried
        self._foreseen: Foreseen | None = None

    @property
    def foreseen(self) -> Foreseen | None:
        """None where no dry run was made, or it told nothing."""
        return self._foreseen

    def dry_run(self, make: Callable[[str], Run]) -> Run:
        """Its dry run, which is made only where it was not begun ahead."""
        return make(self.text) if self._dried is None else self._dried.result()

    def foresee(self, run: Run, verdict: Verdict) -> None:
        """Take along what its dry run told, for the next tiers."""
        self._foreseen = Foreseen(run, verdict)

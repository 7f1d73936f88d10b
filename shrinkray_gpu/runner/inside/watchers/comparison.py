"""Key `comparison`: the check that the candidate fails, of what its kernels wrote against what it expects. Key
`unwritten`: how the host got what comes of memory that nobody wrote. And, of key `turned`, how often the two sides of
the check were brought nearer to each other, where that knob is turned."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Iterator

from .candidate import WatchedCandidate


@contextmanager
def watch(candidate: WatchedCandidate) -> Iterator[None]:
    """Follow what kernels write to the last comparison that the host looks at."""
    wants = [want for want in candidate.request["wants"] if want.startswith("comparison ")]
    apart = candidate.request["knobs"].get("apart")
    candidate.report.update(comparison=None, unwritten="")
    if not (wants or apart):
        yield
        return
    from ..compare import comparison

    save, against = (comparison.asked(wants, what) for what in (comparison.SAVE, comparison.AGAINST))
    nearer, anew = float(apart) if apart else None, comparison.GOES_ON not in wants
    kinds, unsteady = (comparison.asked(wants, what).split() for what in (comparison.KINDS, comparison.UNSTEADY))
    blaming = comparison.BLAME in wants
    observer = comparison.CheckObserver(save, against, candidate.log, nearer, anew, kinds, unsteady, blaming)
    candidate.when_ended(observer.look)
    if candidate.known is not None:
        candidate.known.unless(observer.loads_unwritten)
    try:
        yield
    finally:
        candidate.report["comparison"] = observer.end()
        candidate.report["unwritten"] = observer.unwritten
        if apart:
            candidate.report["turned"] = {**candidate.report["turned"], comparison.KNOB: observer.brought_nearer}

"""Keys `compiles` and `launches`: every kernel that Triton compiles and launches."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Iterator

from .candidate import WatchedCandidate


@contextmanager
def watch(candidate: WatchedCandidate) -> Iterator[None]:
    """Have Triton report to the candidate's log."""
    log = candidate.log
    if log is None:
        candidate.report.update(compiles=[], launches=[])
        yield
        return
    from ..process import compiler_output

    compiler_output.hold = candidate.link.fileno()
    log.install()
    try:
        yield
    finally:
        log.uninstall()
        compiler_output.hold = None
        candidate.report.update(compiles=log.compiles, launches=log.launches)

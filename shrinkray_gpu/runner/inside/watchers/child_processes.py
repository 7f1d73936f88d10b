"""No key: child processes write into the capture's folder, which tells of them, and see the virtual GPU."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import Iterator

from . import capture
from .candidate import WatchedCandidate


@contextmanager
def watch(candidate: WatchedCandidate) -> Iterator[None]:
    """Leave children what they need to be captured and to see the virtual GPU, as far as this process does."""
    captured = capture.is_asked(candidate)
    if not captured and candidate.arch is None:
        yield
        return
    from .. import child_processes
    from ..capture import blackbox

    folder = os.path.join(candidate.request["temporary"], blackbox.FOLDER)
    mode = candidate.request["capture"] if captured else ""
    undo = child_processes.expect(folder, mode, candidate.arch)
    try:
        yield
    finally:
        undo()

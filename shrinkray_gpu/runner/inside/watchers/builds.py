"""Key `builds`: the builds of CUDA C++ that the script asks for."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Iterator

from .candidate import WatchedCandidate


@contextmanager
def watch(candidate: WatchedCandidate) -> Iterator[None]:
    """Answer builds from the folder that the reduction keeps them in."""
    request, folders = candidate.request, candidate.setup["writable"]
    if not request["watch"] or not folders:
        candidate.report["builds"] = []
        yield
        return
    from ..cuda_cpp import builds

    built = builds.Builds(folders[0], candidate.arch, request["wants"], gpu=lambda: candidate.virtual_gpu)
    try:
        built.watch()
        yield
    finally:
        built.end()
        candidate.report["builds"] = [{"launched": None, "calls": [], "flags": [], **build} for build in built.seen]

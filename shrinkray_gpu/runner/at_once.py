"""Work in threads, whose results come in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def at_once(
    jobs: int, work: Callable[[T], R], items: Iterable[T], *, progress: Callable[[int], None] = lambda count: None
) -> list[R]:
    """The results of `work` on the items, so many at a time; `progress` is told how many are there. On Ctrl-C those
    under way are not waited for: whoever closes the lanes ends them."""
    threads, found = ThreadPoolExecutor(jobs), list[R]()
    try:
        for result in threads.map(work, items):
            found.append(result)
            progress(len(found))
        return found
    finally:
        threads.shutdown(wait=False, cancel_futures=True)

"""Work in threads, whose results come in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def at_once(jobs: int, work: Callable[[T], R], items: Iterable[T]) -> list[R]:
    """The results of `work` on the items, so many at a time. On Ctrl-C those under way are not waited for: whoever
    closes the lanes ends them."""
    threads = ThreadPoolExecutor(jobs)
    try:
        return [*threads.map(work, items)]
    finally:
        threads.shutdown(wait=False, cancel_futures=True)

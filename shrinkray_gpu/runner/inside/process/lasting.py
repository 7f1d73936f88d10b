"""What a process of ours makes once and keeps to its end: the garbage collector need not look through it."""

from __future__ import annotations

import contextlib
import gc
from typing import Iterator


@contextlib.contextmanager
def lasting() -> Iterator[None]:
    """What is made in here is never collected, unless nothing refers to it any more.

    torch and Triton make half a million objects when they are imported. To look through them again and again takes a
    third of that time; in a forked child it copies the memory they lie in, too.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if enabled:
            gc.enable()

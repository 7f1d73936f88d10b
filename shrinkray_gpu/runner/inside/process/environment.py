"""Environment variables that are set for a while, and are afterwards as they were: also absent, if that is what they
were."""

from __future__ import annotations

import os
from typing import Callable, Iterable, Optional


def put(name: str, value: Optional[str]) -> None:
    """None takes the variable away."""
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


def restorer(names: Iterable[str]) -> Callable[[], None]:
    """What puts them back as they are now."""
    before = {name: os.environ.get(name) for name in names}

    def restore() -> None:
        for name, value in before.items():
            put(name, value)

    return restore

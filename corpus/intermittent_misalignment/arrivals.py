"""Requests as clients send them: so many tokens each, under an id that nobody can foresee."""

from __future__ import annotations

import uuid
from collections.abc import Iterable


def waiting(lengths: Iterable[int]) -> list[int]:
    """The lengths of the requests that wait, in the order of their ids: a restart serves them in the same order."""
    named = sorted((uuid.uuid4().hex, length) for length in lengths)
    return [length for _, length in named]

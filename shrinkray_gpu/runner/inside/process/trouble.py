"""What of ours fails while the script runs must not end the script: it is noted, and said in the report."""

from __future__ import annotations

import contextlib
from typing import Any, Dict, Iterator


@contextlib.contextmanager
def note_trouble(record: Dict[str, Any]) -> Iterator[None]:
    """Whatever is raised in this block becomes the record's `trouble`, and goes no further."""
    try:
        yield
    except Exception as error:
        record["trouble"] = words_of(error)


def words_of(error: BaseException) -> str:
    """`ValueError: no such name`."""
    return "%s: %s" % (type(error).__name__, error)

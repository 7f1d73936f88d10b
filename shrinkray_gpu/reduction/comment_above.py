"""Lines of comment above a program, below those that must stay its first."""

from __future__ import annotations

import re
from collections.abc import Sequence

KEPT = "# Kept by shrinkray_gpu:"
"""How the comment above a program in other_faults/ begins. A new reduction clears away what begins so."""
_COOKIE = re.compile(r"^[ \t\f]*#.*?coding[:=][ \t]*[-\w.]+")


def add_comment(text: str, rows: Sequence[str]) -> str:
    """The program under these lines as a comment."""
    return put_above([f"# {one_line(row)}" for row in rows], text)


def put_above(rows: Sequence[str], text: str) -> str:
    source = text.split("\n")
    head = _head(source)
    return "\n".join([*source[:head], *rows, "", *source[head:]])


def _head(source: list[str]) -> int:
    """How many lines must stay the first ones."""
    first, second = (*source[:2], "", "")[:2]
    comment = not first.strip() or first.lstrip().startswith("#")
    if comment and not _COOKIE.match(first) and _COOKIE.match(second):
        return 2
    return 1 if first.startswith("#!") or _COOKIE.match(first) else 0


def one_line(text: str) -> str:
    """On one line, and of characters that a comment may hold."""
    return "".join(char if char.isprintable() else "?" for char in " ".join(text.split()))

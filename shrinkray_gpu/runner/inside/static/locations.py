"""Where an operation of Triton's IR comes from: the `loc(...)` behind it, followed to a place in the source."""

from __future__ import annotations

import functools
import os
import re
from typing import Dict, Optional, Tuple

from ..launches.compilation import without_locations

SourceLocation = Tuple[str, int, int]
"""File, line, column."""

_REFERENCE = re.compile(r"\bloc\((#loc\d*)\)\s*$")
_FILE = re.compile(r'"([^"]*)":(\d+):(\d+)')
_NEXT = re.compile(r"#loc\d*\b")
_DEFINITION = re.compile(r"^(#loc\d*) = loc\((.*)\)\s*$", re.MULTILINE)
_DEPTH = 20


def of_operation(text: str, body: str) -> str:
    """`failing.py:79:51` for the operation whose text without locations ends in `body`; empty if that is not told."""
    for raw in text.splitlines():
        if "loc(" in raw and without_locations(raw).strip().endswith(body):
            at = _REFERENCE.search(raw)
            found = _resolved(_table(text), at.group(1) if at else raw[raw.rfind("loc(") :], 0)
            return "%s:%d:%d" % (os.path.basename(found[0]), found[1], found[2]) if found else ""
    return ""


@functools.lru_cache(maxsize=32)
def _table(text: str) -> Dict[str, str]:
    """What each reference stands for."""
    return dict(_DEFINITION.findall(text))


@functools.lru_cache(maxsize=4096)
def of_place(text: str, reference: str) -> Optional[SourceLocation]:
    """The place that `#loc12` stands for in this text; None if it is not told."""
    return _resolved(_table(text), reference, 0) if reference else None


def is_inlined(text: str, reference: str) -> bool:
    """Whether this place is in a function that was inlined into the one where the operation is now."""
    what = _table(text).get(reference, "")
    return "callsite(" in what or any(is_inlined(text, name) for name in _NEXT.findall(what))


def _resolved(table: Dict[str, str], what: str, depth: int) -> Optional[SourceLocation]:
    """The innermost place: of `callsite(callee at caller)` the callee, unless nobody knows that one."""
    if depth > _DEPTH:
        return None
    if what in table:
        return _resolved(table, table[what], depth + 1)
    found = _FILE.search(what)
    if found:
        return found.group(1), int(found.group(2)), int(found.group(3))
    for name in _NEXT.findall(what):
        place = _resolved(table, name, depth + 1) if name in table else None
        if place is not None:
            return place
    return None

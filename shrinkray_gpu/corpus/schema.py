"""What may stand in a `case.toml`: every key, and what its value must be. docs/corpus.md says what they mean.

What is not in these tables is refused, with the nearest key that is: a mistyped `expct` would silently expect nothing.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.oracle import Fault


@dataclass(frozen=True)
class FieldType:
    """What a value must be, in words, and whether it is."""

    words: str
    fits: Callable[[Any], bool]


def _is(value: Any, *types: type) -> bool:
    """Whether a value is of these types; a switch is no number."""
    return isinstance(value, types) and (bool in types or not isinstance(value, bool))


def _all_are(values: Any, kind: type) -> bool:
    return isinstance(values, list) and len(values) <= MOST and all(isinstance(value, kind) for value in values)


LONGEST = 20_000
"""Characters of a string: a mechanism is a page."""
MOST = 1_000
"""Entries of a list or a table, runs of a case."""
DAY = 86_400.0
_NAME = re.compile(r"[^=\0\ud800-\udfff]{1,200}")
_UNSAYABLE = re.compile(r"[\0\ud800-\udfff]")
"""What no argument and no file may hold."""


def _is_text(value: Any) -> bool:
    return _is(value, str) and len(value) <= LONGEST and not _UNSAYABLE.search(value)


TEXT = FieldType(f"a string (of {LONGEST:,} characters at most, without NUL)", _is_text)
TEXTS = FieldType(
    f"a list of strings ({MOST:,} at most, without NUL)",
    lambda value: _all_are(value, str) and all(map(_is_text, value)),
)
SWITCH = FieldType("true or false", lambda value: _is(value, bool))
WHOLE = FieldType("a whole number", lambda value: _is(value, int) and abs(value) < 1 << 63)
COUNT = FieldType(f"a whole number from 1 on, {MOST:,} at most", lambda value: _is(value, int) and 1 <= value <= MOST)
SECONDS = FieldType(f"a number above 0, {DAY:,.0f} at most", lambda value: _is(value, int, float) and 0 < value <= DAY)
MEMORY = FieldType("a number above 0, 10,000 at most", lambda value: _is(value, int, float) and 0 < value <= 10_000)
TABLE = FieldType(f"a table ({MOST:,} keys at most)", lambda value: _is(value, dict) and len(value) <= MOST)
TABLES = FieldType("a list of tables", lambda value: _all_are(value, dict))

CASE: Mapping[str, FieldType] = {
    "title": TEXT,
    "class": TEXT,
    "mechanism": TEXT,
    "oracle": TEXTS,
    "reject": TEXTS,
    "upstream": TEXTS,
    "argv": TEXTS,
    "environment": TABLE,
    "runs": COUNT,
    "timeout": SECONDS,
    "cold": SWITCH,
    "needs": TABLE,
    "fault": TABLE,
    "seen": TABLES,
    "expect": TABLE,
    "artifacts": TABLE,
}
REQUIRED = ("title", "class", "mechanism")
NEEDS: Mapping[str, FieldType] = {
    "gpu": SWITCH,
    "architecture": TEXT,
    "memory": MEMORY,
    "packages": TEXTS,
    "tools": TEXTS,
}
SEEN: Mapping[str, FieldType] = dict.fromkeys(
    ("gpu", "driver", "cuda", "triton", "torch", "helion", "python", "arch", "date"), TEXT
)
FAULT: Mapping[str, FieldType] = {
    each.name: WHOLE if each.type == "int" else TEXT for each in fields(Fault) if each.compare
}
EXPECTATIONS = ("faults", "fixed", "changed", "flaky")


def check(path: Path, data: Mapping[str, Any]) -> None:
    """Raises UsageError, with the place, for an unknown key, a value of a wrong kind, or what is missing."""
    _keys(path, "", data, CASE)
    for name in REQUIRED:
        if not data.get(name):
            raise UsageError(f"{path}: it does not say {name!r}, which every case must")
    _keys(path, "needs.", data.get("needs", {}), NEEDS)
    for index, seen in enumerate(data.get("seen", ())):
        _keys(path, f"seen[{index}].", seen, SEEN)
    if "fault" in data:
        _keys(path, "fault.", data["fault"], FAULT)
        for name in ("phase", "klass"):
            if not data["fault"].get(name):
                raise UsageError(f"{path}: fault: it does not say {name!r}, by which faults are compared")
    for name in ("environment", "artifacts"):
        table = data.get(name, {})
        for key in table:
            if not _NAME.fullmatch(key):
                raise UsageError(f"{path}: {name} has the name {key!r}: write 1 to 200 characters without = and NUL")
        _keys(path, f"{name}.", table, dict.fromkeys(table, TEXT))
    for given, what in data.get("expect", {}).items():
        if what not in EXPECTATIONS:
            raise UsageError(f"{path}: expect.{given!r} is {_clipped(what)}{nearest(str(what)[:100], EXPECTATIONS)}")


def nearest(word: Any, known: Iterable[str]) -> str:
    """The end of a complaint about a word: what was meant, or all there is."""
    names = list(known)
    near = difflib.get_close_matches(str(word), names, 1)
    return f"; did you mean {near[0]!r}?" if near else f"; known: {', '.join(names)}"


def _keys(path: Path, prefix: str, data: Mapping[str, Any], known: Mapping[str, FieldType]) -> None:
    for key, value in data.items():
        if key not in known:
            raise UsageError(f"{path}: unknown key {prefix}{_said(key)}{nearest(key[:100], known)}")
        if not known[key].fits(value):
            shown = value if isinstance(value, (str, int, float, list, dict)) else str(value)  # a date of TOML's own
            raise UsageError(f"{path}: {prefix}{key} is {_clipped(shown)}, and must be {known[key].words}")


def _said(key: str) -> str:
    """A key as it is, where that is one short word."""
    return key if key.isprintable() and len(key) <= 100 else _clipped(key)


def _clipped(value: Any) -> str:
    try:
        shown = repr(value)
    except (ValueError, RecursionError):  # Python writes no number of more than 4,300 digits
        return "a number of too many digits"
    return shown if len(shown) <= 200 else f"{shown[:197]}..."

"""Where one file mentions another, so that both go together: includes, imports, names in build files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

NATIVE = frozenset({".cu", ".cuh", ".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".inl"})
_FROM = re.compile(r"^([ \t]*from[ \t]+([\w.]+)[ \t]+import[ \t]+)([\w, \t]+?)([ \t]*(?:#.*)?\n)", re.MULTILINE)


def without_mentions(path: str, text: str, gone: Iterable[str]) -> str:
    """The text without the includes and imports of these files, and in build files without their names."""
    for other in gone:
        if os.path.splitext(path)[1] in NATIVE:
            text = _without_include(text, os.path.basename(other))
        elif not path.endswith(".py"):
            text = _without_name(text, os.path.basename(other))
        elif other.endswith(".py"):
            text = _without_import(text, other)
    return text


def _without_include(text: str, name: str) -> str:
    included = rf'^[ \t]*#[ \t]*include[ \t]*[<"](?:[^>"\n]*/)?{re.escape(name)}[>"].*\n?'
    return re.sub(included, "", text, flags=re.MULTILINE) if name in text else text


def _without_import(text: str, other: str) -> str:
    """Also a module's name among several that are imported from its package."""
    module = os.path.basename(os.path.dirname(other) if other.endswith("__init__.py") else other[: -len(".py")])
    if not module or module not in text:
        return text
    package = os.path.basename(os.path.dirname(other))

    def among(found: re.Match[str]) -> str:
        head, source, names, end = found.groups()
        last = source.rpartition(".")[2]
        if last == module:
            return ""
        left = [name for name in names.split(",") if name.strip() != module or last not in ("", package)]
        return f"{head}{','.join(left).strip()}{end}" if left else ""

    name = re.escape(module)
    whole = rf"^(?:import[ \t]+(?:\w+\.)*{name}|from[ \t]+[\w.]*\b{name}[ \t]+import[ \t]*\([^)]*\))[^\n]*\n"
    return re.sub(whole, "", _FROM.sub(among, text), flags=re.MULTILINE)


def _without_name(text: str, name: str) -> str:
    """Of a source, also without the name of its object."""
    stem, suffix = os.path.splitext(name)
    if stem not in text:
        return text
    named = rf"[^\s;|&]*\b{re.escape(stem)}(?:{re.escape(suffix)}|\.o)(?![\w:])[ \t]*"
    return re.sub(rf"(?:(?<=\s)|^){named}", "", text, flags=re.MULTILINE)

"""What imports bind, read from the text of statements without parsing it: for whoever asks once a candidate.

A name in a string that looks like an import is bound as well. That is near enough for a guess at what a text says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(?P<module>\.*[\w.]*)[ \t]+import[ \t]+(?P<names>\([^)]*\)|[^\n#;]+)"
    r"|import[ \t]+(?P<plain>[^\n#;]+))",
    re.MULTILINE,
)
_NAME = re.compile(r"(?P<what>[\w.]+)(?:\s+as\s+(?P<by>\w+))?")


def import_bindings(text: str) -> Mapping[str, str]:
    """Each name that an import binds, and what it stands for: `{"T": "triton.language"}`."""
    return dict(_bound(text)) if "import" in text else {}


def _bound(text: str) -> Iterator[tuple[str, str]]:
    for found in _IMPORT.finditer(text):
        for name in _NAME.finditer(found["plain"] or found["names"]):
            what, by = name["what"], name["by"]
            if found["plain"]:
                first = what.partition(".")[0]
                yield (by, what) if by else (first, first)
            else:
                yield by or what, f"{found['module']}.{what}"

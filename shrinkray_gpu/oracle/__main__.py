"""`python -m shrinkray_gpu.oracle docs/oracles.md`: puts the table of `spec.FORMS` into the page about oracles."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from shrinkray_gpu.oracle.spec import markdown_table


def with_table(page: str) -> str:
    """The page with the table as it is now in place of the one that it has."""
    return re.sub(r"(?:^\|.*\n)+", lambda _: markdown_table() + "\n", page, count=1, flags=re.MULTILINE)


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(with_table(path.read_text(encoding="utf-8")), encoding="utf-8")

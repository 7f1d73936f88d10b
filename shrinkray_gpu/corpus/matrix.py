"""What replays said (`shrink replay --json`), cases by environments, as a table in Markdown: the one in docs/corpus.md.

Recorded once and read many times: no GPU and no other Triton is needed to see what they did.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from shrinkray_gpu.corpus.expectation import Status
from shrinkray_gpu.errors import UsageError

MARK = "<!-- shrink corpus matrix -->"
"""The line above the table in a text that has one."""
_WORDS = {
    Status.FAULTS: "faults",
    Status.FIXED: "fixed",
    Status.CHANGED: "changed",
    Status.FORMAT: "format changed",
    Status.CANNOT: "-",
    Status.BROKEN: "broken",
}
_TABLE = re.compile(re.escape(MARK) + r"\n\n?(?:\|[^\n]*\n)*")


def markdown(files: Sequence[Path]) -> str:
    """A row a case and a column an environment, in the order of the files. Raises UsageError."""
    columns = [column for file in files for column in _columns(file)]
    names = sorted({name for _, cases in columns for name in cases})
    rows = [["case", *(heading for heading, _ in columns)], ["---"] * (len(columns) + 1)]
    rows += [[name, *(_cell(cases.get(name)) for _, cases in columns)] for name in names]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def into(text: str, table: str) -> str:
    """The text with this table below its mark. Raises UsageError where it has none."""
    if not _TABLE.search(text):
        raise UsageError(f"there is no line {MARK} in it, which says where the table goes")
    return _TABLE.sub(lambda _: f"{MARK}\n\n{table}", text, count=1)


def _columns(file: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    try:
        told = json.loads(file.read_text(encoding="utf-8"))
        for name, environment in told.items():
            gpu = re.sub(r"^NVIDIA (\S+).*", r"\1", environment["versions"].get("gpu", ""))
            yield name.removeprefix("triton ") + (f", {gpu}" if gpu else ""), environment["cases"]
    except IsADirectoryError as error:
        raise UsageError(
            f"{file} is a folder: give recorded replays, the files that shrink replay {file} --json > FILE writes"
        ) from error
    except OSError as error:
        raise UsageError(f"{file}: cannot be read ({error.strerror})") from error
    except (ValueError, AttributeError, KeyError, TypeError) as error:
        raise UsageError(f"{file} is not what shrink replay --json prints") from error


def _cell(one: Mapping[str, Any] | None) -> str:
    if one is None:
        return _WORDS[Status.CANNOT]
    status = Status(one["status"])
    word = f"flaky {one['shown']} of {one['runs']}" if status is Status.FLAKY else _WORDS[status]
    return word if one["as expected"] else f"{word}, not as expected"

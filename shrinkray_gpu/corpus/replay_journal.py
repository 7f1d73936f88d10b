"""What a replay that was interrupted had found, in `<corpus>.replay/`: the same command goes on with it.

Each list of cells has a file of its own, so that shards may share the folder. Its name is a digest of all that is
asked, and of the cases' files: a case that was edited is no longer the one that was run. What comes to its end leaves
nothing. A case that could not be run is not kept, since the machine may have it in it now.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from shrinkray_gpu.cells.shard import digest
from shrinkray_gpu.corpus.case_cells import CaseCell
from shrinkray_gpu.corpus.expectation import CaseOutcome, Status
from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.evidence.versions import __version__, versions
from shrinkray_gpu.reduction.journal_lines import locked_log, read_journal, take_lines, write_line

_SETTLED = frozenset(Status) - {Status.CANNOT, Status.BROKEN}


class ReplayJournal:
    """`found`: what is known of each cell, by its index. Without a `log` nothing is kept, for the reason `why_not`."""

    def __init__(self, path: Path, log: IO[bytes] | None, why_not: str = "") -> None:
        self.path, self._log, self.why_not = path, log, why_not
        self.found: dict[int, CaseOutcome] = {}
        self._kept = 0

    def keep(self, index: int, outcome: CaseOutcome) -> None:
        if self._log is not None and outcome.status in _SETTLED:
            row = {**outcome.to_row(), "host": outcome.host}
            write_line(self._log, {"event": "outcome", "cell": index, "row": row})
            self._kept += 1

    def left_words(self, count: int) -> str:
        """What there is to go on with, of so many cells."""
        if self._log is None:
            return f"nothing is kept: {self.why_not}"
        return f"{self._kept} of {count} outcomes are kept in {self.path}. The same command goes on"

    def finish(self) -> None:
        """Nothing is left to go on with."""
        if self._log is not None:
            self.path.unlink(missing_ok=True)
            with suppress(OSError):  # a shard's is there, too
                self.path.parent.rmdir()

    def begin(self, cells: Sequence[CaseCell], header: Mapping[str, Any], *, restart: bool) -> None:
        """Take what the log has, if the same versions ran it. They are told by the log's own header."""
        if self._log is None:
            return
        earlier = None if restart else read_journal(self._log)
        if earlier is not None and earlier.header == header:
            cases = {index: cell.case for index, cell in enumerate(cells)}

            def take(line: Mapping[str, Any]) -> None:
                self.found[line["cell"]] = CaseOutcome.of(cases[line["cell"]], line["row"])

            take_lines(earlier.events, take)
            self._kept = len(self.found)
        else:
            self._log.truncate(0)
            write_line(self._log, header)


@contextmanager
def replay_journal(
    corpus: Path, cells: Sequence[CaseCell], *, restart: bool, here: bool, say: Callable[[str], None]
) -> Iterator[ReplayJournal]:
    """The journal of these cells, beside the corpus. `here`: this machine runs them, so that what their interpreters
    have now can be compared."""
    whole = corpus.absolute()
    asked = digest([f"{cell.asked} {cell.where.python} {_content(cell.case.folder)}" for cell in cells])
    path = whole.with_name(f"{whole.name}.replay") / f"{asked}.jsonl"
    try:
        log = locked_log(path, elsewhere="", busy="another replay of the same is at work")
    except UsageError as error:
        yield ReplayJournal(path, None, str(error))
        return
    with log:
        journal = ReplayJournal(path, log)
        places = dict.fromkeys(cell.where for cell in cells) if here else {}
        variables = {each: {**os.environ, **dict(each.environment)} for each in places}
        ran = [dict(versions(each.python, variables[each], gpu=each.arch is None)) for each in places]
        journal.begin(cells, {"settings": {"shrink": __version__, "ran": ran}}, restart=restart)
        if journal.found:
            say(f"going on with {len(journal.found)} of {len(cells)} outcomes of {path} (--restart forgets them)")
        try:
            yield journal
        finally:
            if not journal._kept:
                journal.finish()


def _content(folder: Path) -> str:
    """A digest of all files of a case that can be read, without what Python made of them."""
    whole = hashlib.sha256()
    for file in sorted(folder.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            with suppress(OSError):
                data = file.read_bytes()
                whole.update(f"{file.relative_to(folder)}\0{len(data)}\0".encode("utf-8", "surrogateescape") + data)
    return whole.hexdigest()

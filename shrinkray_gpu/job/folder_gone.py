"""Somebody deletes the folder of a reduction, or its journal, or makes a folder where best.py goes, while it runs: told
in one line, the best so far saved.

Without its journal a reduction cannot go on when it is killed, and without its scratch folder nothing runs: what is
thrown then is as accidental as the moment. So it ends, whatever was thrown. The best so far goes where the result would
have gone, since a new reduction clears what is left of the folder.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from shrinkray_gpu.errors import FolderGone
from shrinkray_gpu.reduction.journal import Journal
from shrinkray_gpu.runner.plain_file import replace_file


@contextmanager
def folder_watch(path: Path, output: Path) -> Iterator[Callable[[Journal], None]]:
    """Within, any error of a reduction that lost its place becomes a FolderGone. The block calls what it gets with the
    journal as soon as it has one. `path`: the program, which no fence keeps from deleting it."""
    begun, journals = time.time_ns(), list[Journal]()
    try:
        yield journals.append
    except Exception as error:
        lost = [_lost(journal) for journal in journals]
        if not any(lost):
            raise
        [journal] = journals
        what = f"{lost[0]} while"
        if journal.latest is None:
            raise FolderGone(
                f"{what} {path} and little else had run: most likely {path} removes it, and would again. Take that out "
                "of it, or choose another place with --output"
            ) from error
        raise FolderGone(
            f"{what} the reduction was at work with it. {_saved(journal.latest, output, begun)}. "
            "To begin anew: the same command with --restart"
        ) from error


def _lost(journal: Journal) -> str:
    """What happened to its folder; empty if nothing did."""
    scratch = journal.folder / "scratch"
    if not journal.folder.exists():
        gone = journal.folder
    elif journal.is_gone:
        gone = journal.path
    elif not scratch.exists():
        gone = scratch
    else:
        return f"{journal.best_path} became a folder" if journal.best_path.is_dir() else ""
    return f"{gone} was deleted or moved away"


def _saved(best: str, output: Path, begun: int) -> str:
    """Where the best program is now; `begun`: a time in ns since 1970. What is at `output` since then is newer."""
    try:
        if output.is_file() and output.stat().st_mtime_ns >= begun:
            return f"The result is in {output}, as far as it was checked"
        replace_file(output, best.encode())
    except OSError as error:
        return f"The best so far could not be saved in {output} ({error.strerror})"
    return f"The best so far is in {output}, not checked in clean runs"

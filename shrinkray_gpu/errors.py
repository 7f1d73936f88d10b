"""What can go wrong for the user, as types. The CLI tells each once and turns it into an exit code."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG, errno.EIO, errno.EISDIR})
"""What no step can do anything about: a full disk, one that fails, a limit on files (`ulimit -f`), a folder that
somebody made where the file goes."""


class ShrinkError(Exception):
    """Something the user should read: what happened, why, and what to do next, in one line."""

    exit_code = 2


class UsageError(ShrinkError):
    """The command, a file or an option is wrong."""


class NotReproduced(ShrinkError):
    """The original program does not show the fault that the oracle asks for."""

    exit_code = 3


class FinalCheckFailed(ShrinkError):
    """The result did not show the fault in a clean process; the best verified one is still written."""

    exit_code = 4


class NoKernelInvolved(ShrinkError):
    """The original fails a check of values that no kernel made."""

    exit_code = 5


class Interrupted(FinalCheckFailed):
    """The user ended the search, and clean runs of the best so far told nothing."""

    exit_code = 130


class LanesLost(ShrinkError):
    """Nothing that is run answers any more."""


class SickDevice(ShrinkError):
    """A GPU fails whatever runs on it."""


class FolderGone(ShrinkError):
    """The folder of a reduction, or its journal, was deleted while it ran."""


def if_it_helps(work: Callable[[], T], otherwise: T, what: str, say: Callable[[str], None]) -> T:
    """What `work` returns, a step that only helps; `otherwise`, and a word to the user, where it fails by a bug.

    What the user must read, and a disk that is full, go on."""
    try:
        return work()
    except ShrinkError:
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            raise
        say(f"{what} failed by a bug of shrink's own, which says nothing of the program ({bug_words(error)})")
        return otherwise


def bug_words(error: Exception) -> str:
    """`KeyError: 'x' at emit.py:70`, of a bug of ours."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    place = f" at {Path(at.tb_frame.f_code.co_filename).name}:{at.tb_lineno}" if at is not None else ""
    return f"{type(error).__name__}: {error}{place}"

"""Key `writes`: files that a script without a fence writes outside of the folders that one with a fence may write in.

Python's own doors only, by an audit hook. A hook is there for the life of a process, so there is one.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import Any, Iterator, List, Optional

from ..process import landlock
from .candidate import WatchedCandidate

MOST = 100
"""Files told."""
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGES = {
    "os.mkdir": 1,
    "os.remove": 1,
    "os.rmdir": 1,
    "os.rename": 2,
    "os.link": 2,
    "os.symlink": 2,
    "os.truncate": 1,
    "sqlite3.connect": 1,
}
"""Events of the interpreter, each with the number of paths that its arguments begin with."""
_seen: Optional[List[str]] = None
_hooked = False


@contextmanager
def watch(candidate: WatchedCandidate) -> Iterator[None]:
    """Note what is written."""
    global _seen
    setup = candidate.setup
    candidate.report["writes"] = []
    if setup["confine"]:
        yield
        return
    _seen = []
    _hook()
    try:
        yield
    finally:
        own = [os.path.realpath(path) for path in (*landlock.always(), setup["scratch"], *setup["writable"])]
        outside = [path for path in dict.fromkeys(_seen) if not any(_below(path, folder) for folder in own)]
        candidate.report["writes"] = outside[:MOST]
        _seen = None


def _hook() -> None:
    global _hooked
    if not _hooked:
        _hooked = True
        sys.addaudithook(_note)


def _note(event: str, args: Any) -> None:
    seen = _seen
    if seen is None:
        return
    if event == "open":
        path, _, flags = args
        paths = [path] if flags & _WRITING else []
    else:
        paths = list(args[: _CHANGES.get(event, 0)])
    for path in paths:
        if isinstance(path, (str, bytes)) and path != ":memory:":
            named = _named(os.fsdecode(path))
            if named is not None:
                seen.append(os.path.realpath(named))


def _named(path: str) -> Optional[str]:
    """The path from the root; None where it is too long for a path, or where its folder is gone. Then glibc walks up to
    the root for the name of the working folder, each time that somebody asks."""
    try:
        return os.path.join(os.readlink("/proc/self/cwd"), path)
    except OSError:
        return path if os.path.isabs(path) else None


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder + os.sep)

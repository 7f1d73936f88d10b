"""What is written to file descriptors 1 and 2 while Triton compiles: MLIR tells its errors there, not in the exception.

A pipe (a lane's descriptors) cannot be read back, so both go to memory meanwhile, and what came is copied to where they
went before. LLVM may abort the process in between; its last words are what matters then. A shell that waits for that,
with the real descriptors, copies them; it also holds the lane's link open (`hold`), so that the tool cannot take the
lane for finished before they are there.

A compilation answered by the cache prints nothing and costs nothing here: `begin` is called by the first step of a real
one. The shell takes half a millisecond; no shell, no memory files: nothing is heard, nothing is changed.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import Any, List, Optional, Tuple

LIMIT = 1 << 20
"""Bytes of each descriptor that are kept; all of it is copied."""

hold: Optional[int] = None
"""The lane's link to the tool, to be held open until the last words are said."""

_LAST_WORDS = "read _; cat /proc/self/fd/%d; cat /proc/self/fd/%d >&2"

_here = threading.local()
_lock = threading.Lock()
_aside: Optional["_Aside"] = None
_listeners = 0


class CapturedOutput:
    """`with` this, `begin()` turns on; `text` afterwards is what came meanwhile."""

    def __init__(self) -> None:
        self.text = ""
        self._starts: Optional[List[int]] = None

    def __enter__(self) -> "CapturedOutput":
        self._outer = getattr(_here, "current", None)
        _here.current = self
        return self

    def __exit__(self, *exc: Any) -> None:
        _here.current = self._outer
        self._end()

    def begin(self) -> None:
        global _aside, _listeners
        with _lock:
            if self._starts is not None:
                return
            if _listeners == 0:
                _flush()
                _aside = _set_aside()
            _listeners += 1
            self._starts = _aside.sizes() if _aside is not None else [0, 0]

    def _end(self) -> None:
        global _aside, _listeners
        with _lock:
            if self._starts is None:
                return
            _flush()
            if _aside is not None:
                self.text = _aside.since(self._starts)
            _listeners -= 1
            if _listeners == 0 and _aside is not None:
                _aside.put_back()
                _aside = None


def begin() -> None:
    """This thread compiles now; a no-op unless it is in a `CapturedOutput`."""
    current = getattr(_here, "current", None)
    if current is not None:
        current.begin()


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):
            pass


class _Aside:
    """Descriptors 1 and 2 while they go to memory."""

    def __init__(self, files: Tuple[int, int], real: Tuple[int, int], alive: int, guard: int) -> None:
        self.files = files
        self.real = real
        self.alive = alive  # the guard speaks when this end closes with the process
        self.guard = guard

    def sizes(self) -> List[int]:
        return [os.fstat(fd).st_size for fd in self.files]

    def since(self, starts: List[int]) -> str:
        parts = [os.pread(fd, LIMIT, start) for fd, start in zip(self.files, starts)]
        return b"".join(parts).decode("utf-8", "replace")

    def put_back(self) -> None:
        for target, fd in zip((1, 2), self.real):
            os.dup2(fd, target)
        try:
            os.kill(self.guard, signal.SIGKILL)
            os.waitpid(self.guard, 0)
        except (ProcessLookupError, ChildProcessError):
            pass  # the script reaps all children itself
        for fd, real in zip(self.files, self.real):
            _copy(fd, real)
        for fd in (*self.files, *self.real, self.alive):
            os.close(fd)


def _set_aside() -> Optional[_Aside]:
    """Turn both descriptors to memory; None where that cannot be done safely."""
    opened: List[int] = []
    try:
        for _ in (1, 2):
            opened.append(os.memfd_create("printed"))
        opened += [os.dup(1), os.dup(2)]
        opened += os.pipe()
        out, err, real_out, real_err, waiting, alive = opened
        guard = _spawn(out, err, waiting)
    except (OSError, AttributeError):
        for fd in opened:
            os.close(fd)
        return None
    os.close(waiting)
    os.dup2(out, 1)
    os.dup2(err, 2)
    return _Aside((out, err), (real_out, real_err), alive, guard)


def _spawn(out: int, err: int, waiting: int) -> int:
    inherited = [fd for fd in (out, err, hold) if fd is not None]
    for fd in inherited:
        os.set_inheritable(fd, True)
    try:
        return os.posix_spawn(
            "/bin/sh",
            ["sh", "-c", _LAST_WORDS % (out, err)],
            {"PATH": "/usr/bin:/bin"},
            file_actions=[(os.POSIX_SPAWN_DUP2, waiting, 0)],
            setsigdef=[signal.SIGPIPE],
        )
    finally:
        for fd in inherited:
            os.set_inheritable(fd, False)


def _copy(fd: int, target: int) -> None:
    at = 0
    while True:
        data = os.pread(fd, 1 << 16, at)
        if not data:
            return
        try:
            at += os.write(target, data)
        except OSError:  # nobody reads any more
            return

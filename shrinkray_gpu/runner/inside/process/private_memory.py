"""Shared memory of one's own: from here on this process and its children see an empty /dev/shm, and none of System V.

It takes namespaces of mounts and of what System V shares: root may have them, others where the kernel lets users.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
from contextlib import suppress
from typing import Iterable

from . import capabilities
from .landlock import SHARED_MEMORY

PART = "shared memory"
"""Part of the fence."""
PATIENCE = 10.0
"""Seconds for the try, which takes some milliseconds. Whoever starts this process waits three minutes for it."""
OURS, NEW_USER = 0x00020000 | 0x08000000, 0x10000000
REC, SLAVE, NOSUID, NODEV = 1 << 14, 1 << 19, 1 << 1, 1 << 2


def possible(seen: Iterable[str]) -> bool:
    """Whether the kernel lets us; not where one of the paths that must be `seen` is in there. For a process that has
    one thread: a child tries, since what fails halfway would leave it in a namespace without rights. One that does not
    come to its end is given up."""
    if any(_is_in_there(path) for path in seen) or not os.path.isdir(SHARED_MEMORY):
        return False
    at_work, held = os.pipe()  # closed by the child's end
    pid = os.fork()
    if not pid:
        try:
            os._exit(0 if begin() else 1)
        finally:
            os._exit(1)
    os.close(held)
    ended, _, _ = select.select([at_work], [], [], PATIENCE)
    os.close(at_work)
    if not ended:
        os.kill(pid, signal.SIGKILL)
    return os.waitpid(pid, 0)[1] == 0


def begin() -> bool:
    """Have an empty /dev/shm from here on. For a process that has one thread, where it is possible."""
    libc = ctypes.CDLL(None, use_errno=True)
    size = os.statvfs(SHARED_MEMORY)
    options = b"mode=1777,size=%d" % (size.f_blocks * size.f_frsize)
    user, group = os.geteuid(), os.getegid()
    as_user = libc.unshare(OURS) != 0
    if as_user:
        if os.uname().machine not in capabilities.CALLS or libc.unshare(NEW_USER | OURS):
            return False
        for name, line in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            with suppress(OSError), open(f"/proc/self/{name}", "w") as told:
                told.write(line)
    # What the machine mounts and unmounts is seen here, as an automounter needs it; what is mounted here is not there.
    done = libc.mount(None, b"/", None, REC | SLAVE, None) == 0
    done = done and libc.mount(b"shm", SHARED_MEMORY.encode(), b"tmpfs", NOSUID | NODEV, options) == 0
    # In a namespace of its own this process may do to its user's files what only root may otherwise.
    return done and (not as_user or capabilities.drop(0))


def _is_in_there(path: str) -> bool:
    real = os.path.realpath(path)
    return real == SHARED_MEMORY or real.startswith(SHARED_MEMORY + os.sep)

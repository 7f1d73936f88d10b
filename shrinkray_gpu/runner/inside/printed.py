"""What was written to file descriptors 1 and 2 in the meantime.

MLIR and ptxas tell their errors there, not in the exception. The worker points both descriptors at regular files; then
reading costs nothing and needs no second dup. Elsewhere (a terminal, a pipe) nothing can be read back and nothing is
told.
"""

from __future__ import annotations

import os
import stat
import sys
from typing import Dict

LIMIT = 1 << 20


def mark() -> Dict[int, int]:
    """Where each descriptor that is a regular file ends now."""
    ends: Dict[int, int] = {}
    files = set()
    for fd in (1, 2):
        try:
            info = os.fstat(fd)
        except OSError:
            continue
        if stat.S_ISREG(info.st_mode) and (info.st_dev, info.st_ino) not in files:
            files.add((info.st_dev, info.st_ino))
            ends[fd] = info.st_size
    return ends


def since(before: Dict[int, int]) -> str:
    """The text written after `mark`."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):
            pass
    out = []
    for fd, start in before.items():
        try:
            with open("/proc/self/fd/%d" % fd, "rb") as f:  # fd itself may be open for writing only
                f.seek(start)
                out.append(f.read(LIMIT).decode("utf-8", "replace"))
        except OSError:
            continue
    return "".join(out)

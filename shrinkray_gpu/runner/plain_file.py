"""Files that anybody may have put in our way: opened without a wait, and replaced as a whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

LARGEST = 64 << 20
_NOT_PLAIN = "it is no plain file"


def open_plain(path: Path | str, flags: int, rights: int = 0o666) -> int:
    """A descriptor of the file; an opener for `open`. A pipe or a device may keep its reader waiting for ever.

    Raises OSError for those as well, and for a link where O_NOFOLLOW is among the flags.
    """
    try:
        descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, rights)
    except OSError as error:
        if error.errno == errno.ELOOP and flags & os.O_NOFOLLOW:
            raise OSError(errno.ELOOP, "it is a link", str(path)) from error
        if error.errno == errno.ENXIO:  # a socket
            raise OSError(errno.ENXIO, _NOT_PLAIN, str(path)) from error
        raise
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        raise OSError(errno.EISDIR if stat.S_ISDIR(mode) else errno.ENXIO, _NOT_PLAIN, str(path))
    return descriptor


def open_left(path: Path | str, flags: int) -> int:
    """An opener for a file that a candidate left: a pipe would keep its reader waiting, and a link may lead to what is
    not the candidate's to tell. Raises OSError for those."""
    return open_plain(path, flags | os.O_NOFOLLOW)


def left_text(path: Path) -> str:
    """The text of a file that a candidate left, at most LARGEST characters of it. Empty where there is none."""
    with suppress(OSError), open(path, encoding="utf-8", errors="replace", opener=open_left) as file:
        return file.read(LARGEST)
    return ""


def replace_file(path: Path, data: bytes, *, sync: bool = False) -> None:
    """Put these bytes in the place of the file, or of nothing; `sync`: on disk when this returns. Nothing is left
    beside it where that fails. Raises OSError."""
    new = path.with_name(f"{path.name}.new")
    try:
        new.unlink(missing_ok=True)  # what was left there; a pipe would keep us waiting, a link lead us elsewhere
        with open(new, "xb") as file:
            file.write(data)
            file.flush()
            if sync:
                os.fsync(file.fileno())
        os.replace(new, path)
    except OSError:
        with suppress(OSError):
            new.unlink()
        raise

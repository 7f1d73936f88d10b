"""Messages between the tool and its workers: a length, then JSON, and sometimes file descriptors beside it.

A candidate shares its process with what reports on it. So a message that is not whole, not in time, too large or not
JSON is told as BrokenMessage.
"""

from __future__ import annotations

import select
import signal
import socket
import struct
from json import dumps, loads  # these and `write`: as they are before a candidate replaces them
from os import write
from time import monotonic
from typing import Any, Optional

LENGTH = struct.Struct("!I")
LARGEST = 256 << 20
"""Bytes of a message."""
MOST = 8 << 20
"""Values in it, by its brackets and commas: each takes some 60 bytes of whoever reads it."""
DEEPEST = 100
"""Brackets in brackets."""
WHOLE = 10.0
"""Seconds from a message's first byte to its last."""
LOST = signal.SIGRTMIN + 9
"""Ends a lane that cannot tell what its candidate came to: no exit status may pass for the candidate's."""


class ConnectionClosed(ConnectionError):
    """The other end went away."""


class BrokenMessage(OSError):
    """What came is no message, and nothing that follows it is."""


def send(
    sock: socket.socket, message: dict[str, Any], fds: tuple[int, ...] = (), seconds: Optional[float] = None
) -> None:
    """Send one message; `fds` are duplicated into the receiver. Raises TimeoutError if that does not take it within
    `seconds`, None: however long it takes."""
    body = dumps(message).encode()
    if len(body) > LARGEST:
        raise BrokenMessage("a message of %d bytes" % len(body))
    head = LENGTH.pack(len(body))
    if fds:
        socket.send_fds(sock, [head], list(fds))  # with the head, so that a partial body never splits them off
        head = b""
    left = memoryview(head + body)
    deadline = None if seconds is None else monotonic() + seconds
    while left:
        _wait(sock, select.POLLOUT, deadline)
        sent = write(sock.fileno(), left) if deadline is None else sock.send(left, socket.MSG_DONTWAIT)
        left = left[sent:]


def receive(sock: socket.socket, seconds: Optional[float] = None, fds: int = 0) -> tuple[dict[str, Any], list[int]]:
    """Wait for one message, and up to so many file descriptors beside it; it must begin within `seconds`. Raises
    TimeoutError, ConnectionClosed at the end of the stream, BrokenMessage."""
    _wait(sock, select.POLLIN, None if seconds is None else monotonic() + seconds)
    head, received, _, _ = socket.recv_fds(sock, LENGTH.size, fds)
    if not head:
        raise ConnectionClosed
    deadline = monotonic() + WHOLE
    try:
        head += _exactly(sock, LENGTH.size - len(head), deadline)
        (size,) = LENGTH.unpack(head)
        if size > LARGEST:
            raise BrokenMessage("a message of %d bytes" % size)
        body = _exactly(sock, size, deadline)
        if body.count(b",") + body.count(b"[") + body.count(b"{") > MOST:
            raise BrokenMessage("a message of too many values")
        message = loads(body)
    except (TimeoutError, ConnectionClosed) as error:
        raise BrokenMessage("a message that is cut short") from error
    except (ValueError, RecursionError) as error:
        raise BrokenMessage("a message that is not JSON") from error
    if not isinstance(message, dict):
        raise BrokenMessage("a message that is no object")
    if _is_deep(message):
        raise BrokenMessage("a message that is nested too deep")
    return message, list(received)


def _is_deep(message: dict[str, Any]) -> bool:
    level: list[Any] = [message]
    for _ in range(DEEPEST):
        inner = [each for value in level for each in (value.values() if type(value) is dict else value)]
        level = [each for each in inner if type(each) is dict or type(each) is list]
        if not level:
            return False
    return True


def _exactly(sock: socket.socket, size: int, deadline: float) -> bytes:
    parts = []
    while size:
        _wait(sock, select.POLLIN, deadline)
        part = sock.recv(min(size, 1 << 20))
        if not part:
            raise ConnectionClosed
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _wait(sock: socket.socket, event: int, deadline: Optional[float]) -> None:
    """Not by the socket's own time limit: threads share that."""
    if deadline is None:
        return
    waiting = select.poll()
    waiting.register(sock, event)
    if not waiting.poll(max(0.0, deadline - monotonic()) * 1000):
        raise TimeoutError("no answer in time")

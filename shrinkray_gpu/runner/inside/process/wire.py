"""Messages between the tool and its workers: a length, then JSON, and sometimes file descriptors beside it."""

from __future__ import annotations

import json
import socket
import struct
from typing import Any

LENGTH = struct.Struct("!I")
MAX_FDS = 4


class ConnectionClosed(ConnectionError):
    """The other end went away."""


def send(sock: socket.socket, message: dict[str, Any], fds: tuple[int, ...] = ()) -> None:
    """Send one message; `fds` are duplicated into the receiver."""
    body = json.dumps(message).encode()
    head = LENGTH.pack(len(body))
    if fds:
        socket.send_fds(sock, [head], list(fds))  # with the head, so that a partial body never splits them off
        sock.sendall(body)
    else:
        sock.sendall(head + body)


def receive(sock: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Wait for one message. Raises Closed at the end of the stream."""
    head, fds, _, _ = socket.recv_fds(sock, LENGTH.size, MAX_FDS)
    if not head:
        raise ConnectionClosed
    head += _exactly(sock, LENGTH.size - len(head))
    message: dict[str, Any] = json.loads(_exactly(sock, LENGTH.unpack(head)[0]))
    return message, list(fds)


def _exactly(sock: socket.socket, size: int) -> bytes:
    parts = []
    while size:
        part = sock.recv(min(size, 1 << 20))
        if not part:
            raise ConnectionClosed
        parts.append(part)
        size -= len(part)
    return b"".join(parts)

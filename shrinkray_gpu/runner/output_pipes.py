"""What a candidate prints, read from two pipes with a cap until its lane reports."""

from __future__ import annotations

import os
import selectors
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from shrinkray_gpu.runner.inside.process import wire

KEPT = 128 * 1024
"""Bytes of output kept at either end of each stream, where nobody says otherwise."""
READ = 1 << 16
MOST = 1 << 20
"""Bytes that a pipe holds at most."""
TIMED_OUT: dict[str, Any] = {}
"""In place of a report: the deadline came first."""
ENOUGH: dict[str, Any] = {}
"""In place of a report: what was printed so far is all that was wanted."""


@dataclass
class OutputPipes:
    """Two pipes that a candidate writes to, read with a cap: head and tail are kept, the middle is dropped."""

    most: int = KEPT
    writers: tuple[int, ...] = ()
    readers: tuple[int, ...] = ()
    kept: dict[int, _CappedText] = field(default_factory=dict)

    def __enter__(self) -> OutputPipes:
        pipes = [os.pipe(), os.pipe()]
        self.readers, self.writers = tuple(r for r, _ in pipes), tuple(w for _, w in pipes)
        self.kept = {reader: _CappedText(self.most) for reader in self.readers}
        for reader in self.readers:
            os.set_blocking(reader, False)
        return self

    def __exit__(self, *_: object) -> None:
        self.close_writers()
        for reader in self.readers:
            os.close(reader)

    def close_writers(self) -> None:
        for writer in self.writers:
            os.close(writer)
        self.writers = ()

    def until_report(
        self, link: socket.socket, deadline: float, enough: Callable[[str], bool] | None = None
    ) -> dict[str, Any] | None:
        """Read output until the lane reports, or its watchdog says that it hangs; None if it closed without a report,
        TIMED_OUT at the deadline, ENOUGH as soon as `enough` says so of what was printed. Raises BrokenMessage."""
        with selectors.DefaultSelector() as selector:
            selector.register(link, selectors.EVENT_READ)
            for reader in self.readers:
                selector.register(reader, selectors.EVENT_READ)
            while True:
                left = deadline - time.monotonic()
                if left <= 0:
                    return TIMED_OUT
                for key, _ in selector.select(left):
                    if key.fileobj is link:
                        try:
                            return wire.receive(link)[0]
                        except ConnectionError:
                            return None
                    if not self._read(key.fd):
                        selector.unregister(key.fd)
                    elif enough is not None and enough(self.texts()[0]):
                        return ENOUGH

    def drain(self) -> None:
        """Read what waits in the pipes, and no more: what is left of a candidate may write on."""
        for reader in self.readers:
            for _ in range(MOST // READ):
                if not self._read(reader):
                    break

    def texts(self) -> tuple[str, str]:
        out, err = (self.kept[reader].text() for reader in self.readers)
        return out, err

    def _read(self, reader: int) -> bool:
        try:
            data = os.read(reader, READ)
        except BlockingIOError:
            return False
        self.kept[reader].add(data)
        return bool(data)


class _CappedText:
    def __init__(self, most: int) -> None:
        self.most = most
        self.head, self.tail, self.dropped = bytearray(), bytearray(), 0

    def add(self, data: bytes) -> None:
        room = self.most - len(self.head)
        self.head += data[:room]
        self.tail += data[room:] if room < len(data) else b""
        if len(self.tail) > self.most:
            self.dropped += len(self.tail) - self.most
            del self.tail[: -self.most]

    def text(self) -> str:
        gap = f"\n[{self.dropped} bytes left out]\n".encode() if self.dropped else b""
        return bytes(self.head + gap + self.tail).decode(errors="replace")

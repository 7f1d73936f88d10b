"""best.py: the best program so far, whole at every moment, saved beside the search."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from shrinkray_gpu.reduction.extent import Extent


class BestFile:
    """`sync` puts the journal on disk. That comes first: a kill between the two leaves an older best.py, which is still
    ours and not taken for one edited by hand."""

    def __init__(self, path: Path, sync: Callable[[], None]) -> None:
        self.path = path
        self.latest: str | None = None
        """The best so far, whatever became of the file; None before anything shorter than the original was found."""
        self._most: Extent | None = None
        self._sync = sync
        self._saver = ThreadPoolExecutor(1, thread_name_prefix="journal")
        self._saving: Future[None] | None = None

    def within(self, most: Extent | None) -> None:
        """From now on no text gets there that goes beyond this, which is what was given; None: as before."""
        self._most = most or self._most

    def note(self, text: str) -> None:
        """The best is this, though the file stays for the moment."""
        self.latest = text

    def replace(self, text: str) -> None:
        """Save the program, beside the search: to wait for the disk took 30 ms a step, a tenth of some reductions. The
        step after it waits for this one, so that a full disk is told of at once."""
        self.latest = text
        if self._most is not None and not self._most.holds(Extent.of(text)):
            return
        self.flush()
        self._saving = self._saver.submit(self._save, text.encode("utf-8"))

    def remove(self, text: str) -> None:
        """Remove the file if it still holds this text. What a person made of it stays."""
        self.flush()
        if self.path.exists() and self.path.read_bytes() == text.encode():
            self.path.unlink()

    def read(self) -> str | None:
        """What the file holds; None where there is none, or where it is no text."""
        self.flush()
        try:
            return self.path.read_text(encoding="utf-8")
        except (FileNotFoundError, UnicodeDecodeError):
            return None

    def flush(self) -> None:
        """Wait until the file is on disk, and raise what kept it from there."""
        saving, self._saving = self._saving, None
        if saving is not None:
            saving.result()

    def close(self) -> None:
        try:
            self.flush()
        finally:
            self._saver.shutdown()

    def _save(self, data: bytes) -> None:
        self._sync()
        temporary = self.path.with_name("best.py.new")
        with open(temporary, "wb") as f:
            f.write(data)
            f.flush()
            os.fsync(f.fileno())
        os.replace(temporary, self.path)
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

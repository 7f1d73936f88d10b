"""best.py: the best program so far, whole at every moment, saved beside the search."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.reduction.extent import Extent
from shrinkray_gpu.runner.plain_file import open_plain, replace_file


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
        if self.data() == text.encode():
            self.path.unlink()

    def data(self) -> bytes | None:
        """What the file holds; None where there is none. Raises UsageError where it cannot be read."""
        try:
            with open(self.path, "rb", opener=open_plain) as file:
                return file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise UsageError(
                f"cannot read {self.path}: {error.strerror}. Move it away, or choose another place with --output"
            ) from error

    def read(self) -> str | None:
        """What the file holds; None where there is none, or where it is no text."""
        self.flush()
        data = self.data()
        try:
            return None if data is None else data.decode("utf-8")
        except UnicodeDecodeError:
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
        replace_file(self.path, data, sync=True)
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

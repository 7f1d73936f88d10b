"""The second run: each launch of a suspect kernel is written down with what its tensors hold, and waited for.

That is as slow as it sounds, and says exactly which launch fails. A tensor is described before its launch, in the
words of `capture.contents`; whole numbers are kept exactly, since addresses may be made of them.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections import OrderedDict
from typing import Any, Callable, Dict, FrozenSet, Optional, Tuple

from ..capture import contents, description, launch_kind
from ..process.trouble import note_trouble
from . import inductor, writing
from .capsule_schema import CapsuleError, CapsuleFile

Record = Dict[str, Any]
Failed = Callable[[Any, BaseException], None]


class LaunchContents:
    """The last launch of each kind, with contents. `only`: the kernels that are recorded; None: all."""

    def __init__(self, only: Optional[FrozenSet[str]] = None) -> None:
        self.only = only
        self.folder = tempfile.mkdtemp(prefix="shrink-record-")
        self.contents = contents.Contents(self.folder)
        self.count = 0
        self.current = 0
        """The number of the recorded launch under way; 0: none is."""
        self.kinds: "OrderedDict[Any, Tuple[int, int, Record]]" = OrderedDict()
        self._kernels: Dict[int, Any] = {}  # kinds name kernels by their ids

    def watch(self, original: Callable[..., Any], failed: Failed) -> Callable[..., Any]:
        """`JITFunction.run`, described and waited for."""

        def run(kernel: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
            if warmup:
                return original(kernel, *args, grid=grid, warmup=warmup, **kwargs)

            def describe(record: Record) -> None:
                description.describe_call(record, kernel, args, kwargs)

            def go(record: Optional[Record]) -> Any:
                def sizes(meta: Any) -> Any:
                    found = grid(meta)
                    if record is not None:
                        record["grid"] = description.grid(found)
                    return found

                if record is not None and not callable(grid):
                    record["grid"] = description.grid(grid)
                return original(kernel, *args, grid=sizes if callable(grid) else grid, warmup=False, **kwargs)

            return self._launch(kernel, describe, go, failed)

        return run

    def watch_inductor(self, original: Callable[..., Any], failed: Failed) -> Callable[..., Any]:
        """`CachingAutotuner.run`. While it still chooses, its trials are recorded and the launch after them is not."""

        def run(tuner: Any, *args: Any, **kwargs: Any) -> Any:
            launcher = inductor.launcher_of(tuner)
            if launcher is None:
                return original(tuner, *args, **kwargs)

            def describe(record: Record) -> None:
                inductor.describe(record, tuner, launcher, kwargs.get("grid"), args)

            return self._launch(tuner.fn, describe, lambda _: original(tuner, *args, **kwargs), failed)

        return run

    def watch_trials(self, original: Callable[..., Any], failed: Failed) -> Callable[..., Any]:
        """`CachingAutotuner.bench`: a launch by one of several launchers."""

        def bench(tuner: Any, launcher: Any, *args: Any, **kwargs: Any) -> Any:
            def describe(record: Record) -> None:
                inductor.describe(record, tuner, launcher, kwargs.get("grid"), args)

            return self._launch(tuner.fn, describe, lambda _: original(tuner, launcher, *args, **kwargs), failed)

        return bench

    def _launch(self, kernel: Any, describe: Callable[[Record], None], go: Callable[..., Any], failed: Failed) -> Any:
        """`go`: launches, and is given the record, or None for a kernel that is not recorded."""
        self.count += 1
        record = None
        if self.only is None or getattr(kernel, "__name__", "") in self.only:
            _wait()  # what fails here was launched earlier
            record = self._record(kernel, describe)
        self.current = self.count if record is not None else 0
        try:
            found = go(record)
            if record is not None:
                _wait()
            self.current = 0
            return found
        except BaseException as error:
            failed(record, error)
            raise

    def _record(self, kernel: Any, describe: Callable[[Record], None]) -> Record:
        record = writing.blank(kernel, self.count)
        notes = description.NOTES
        notes.append(self.contents.note)
        try:
            with note_trouble(record):
                describe(record)
        finally:
            notes.remove(self.contents.note)
        self._kernels.setdefault(id(record["kernel"]), record["kernel"])
        key = launch_kind.kind(record)
        times = self.kinds[key][1] if key in self.kinds else 0
        self.kinds[key] = (self.count, times + 1, record)
        self.kinds.move_to_end(key)
        if len(self.kinds) > writing.KINDS:
            self.kinds.popitem(last=False)
        return record

    def capsule(self, error: CapsuleError) -> CapsuleFile:
        """The latest first. That is the one that failed if it was waited for, and did not come back."""
        kinds = list(reversed(self.kinds.values()))
        exact = bool(kinds) and kinds[0][0] == self.current
        return writing.capsule(kinds, error, mode="record", exact=exact, seen=self.count, folder=self.folder)

    def close(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def _wait() -> None:
    torch: Any = sys.modules.get("torch")
    if torch is not None and not torch.cuda.is_current_stream_capturing():
        torch.cuda.synchronize()

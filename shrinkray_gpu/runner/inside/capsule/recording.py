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
from . import writing
from .capsule_schema import CapsuleError, CapsuleFile

Record = Dict[str, Any]


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

    def watch(self, original: Callable[..., Any], failed: Callable[[Any, BaseException], None]) -> Callable[..., Any]:
        """`JITFunction.run`, described and waited for."""

        def run(kernel: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
            if warmup:
                return original(kernel, *args, grid=grid, warmup=warmup, **kwargs)
            self.count += 1
            record = None
            if self.only is None or getattr(kernel, "__name__", "") in self.only:
                _wait()  # what fails here was launched earlier
                record = self._record(kernel, args, kwargs)

            def sizes(meta: Any) -> Any:
                found = grid(meta)
                if record is not None:
                    record["grid"] = description.grid(found)
                return found

            if record is not None and not callable(grid):
                record["grid"] = description.grid(grid)
            self.current = self.count if record is not None else 0
            try:
                found = original(kernel, *args, grid=sizes if callable(grid) else grid, warmup=False, **kwargs)
                if record is not None:
                    _wait()
                self.current = 0
                return found
            except BaseException as error:
                failed(record, error)
                raise

        return run

    def _record(self, kernel: Any, args: Any, kwargs: Record) -> Record:
        record = writing.blank(kernel, self.count)
        notes = description.NOTES
        notes.append(self.contents.note)
        try:
            with note_trouble(record):
                description.describe_call(record, kernel, args, kwargs)
        finally:
            notes.remove(self.contents.note)
        self._kernels.setdefault(id(kernel), kernel)
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

"""History: the ordered list of what a run does with its kernels, for faults that no launch shows by itself.

Launches, the first sight and the end of each storage they touch, the host's waits, and what the host wrote into a
tensor between two launches (its version counter tells). A storage is known by a number that no other gets, however
often the allocator hands out the same address. Only descriptions are kept: no tensor lives longer for it, and nothing
here waits for the device. Operations of torch on tensors that no kernel of Triton's gets are not seen.
"""

from __future__ import annotations

import functools
import json
import sys
from collections import deque
from typing import Any, Callable, Deque, Dict, List, Optional, Set, Tuple

from . import description, record_text
from .kernelsource import Sources

Record = Dict[str, Any]

EVENTS = 2000
"""The latest events are kept: what a program did in its first minute is seldom why it faults in its tenth."""
WAITING = ("item", "tolist", "cpu")
"""Methods of a tensor for which the host waits until the device has come so far."""


class History:
    """The events of one candidate. `description.NOTES` bring each tensor by."""

    def __init__(self, capture: Any) -> None:
        self.capture = capture
        self.events: Deque[Record] = deque(maxlen=EVENTS)
        self.count = 0
        self.storages = 0
        self._live: Dict[int, Tuple[int, Any]] = {}
        self._versions: Dict[Tuple[Any, ...], int] = {}
        self._written: List[Record] = []
        self._compiled: Dict[int, Tuple[int, Any]] = {}
        self._listening = False

    def install(self) -> None:
        description.add_note(self.note, self.capture.patches)
        self.capture.patches.wrap(self.capture.log, "sync", self._sync)

    def _sync(self, original: Callable[[], None]) -> Callable[[], None]:
        def sync() -> None:  # the virtual GPU says so itself
            self._once("wait")
            original()

        return sync

    def _wrap(self) -> None:
        """At the first launch: what the host does before that is no history, and the virtual GPU is in place then."""
        self._listening = True
        torch: Any = sys.modules["torch"]
        cuda = torch.cuda
        for holder in (cuda, cuda.Stream, cuda.Event):
            self._listen(holder, "synchronize", lambda *args: self._once("wait"))
        for name in WAITING:
            self._listen(torch.Tensor, name, lambda x, *args: self._once("wait") if x.is_cuda else None)
        self._listen(cuda, "empty_cache", lambda *args: self._once("release"))

    def _listen(self, holder: Any, name: str, tell: Callable[..., None]) -> None:
        own = name in vars(holder)
        original = getattr(holder, name)

        @functools.wraps(original)
        def heard(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            if self.capture.at_work:
                tell(*args)
            return result

        setattr(holder, name, heard)

        def undo() -> None:
            if vars(holder).get(name) is heard:  # the virtual GPU may have put its own back already
                setattr(holder, name, original) if own else delattr(holder, name)

        self.capture.patches.on_undo(undo)

    # What happens

    def note(self, value: Any, about: Record) -> None:
        """A tensor is described for a launch: give its storage a number, and see whether the host wrote to it."""
        if not self._listening:
            self._wrap()
        storage = value.untyped_storage()
        key = int(storage._cdata)
        if key not in self._live or self._gone(key):
            self._live[key] = (self.storages, _weak(storage))
            self.storages += 1
        number = about["storage"] = self._live[key][0]
        try:
            version = int(value._version)
        except Exception:  # inference tensors have none
            return
        view = (number, tuple(about["shape"]), tuple(about["strides"]), about["offset"])
        if self._versions.get(view, version) != version:
            self._written.append({"kind": "write", "tensor": about})
        self._versions[view] = version

    def launching(self, record: Record) -> None:
        """A launch that was described is about to go."""
        self._bury()
        for event in self._written:
            self._add(event)
        self._written = []
        if not record["tuning"]:
            self._add({"kind": "launch", "record": record})

    def note_launch(self, record: Record, compiled: Any) -> None:
        """It has gone, and this is the compiled kernel that went: a program may keep that, and launch it again for
        arguments that it was not compiled for."""
        number, _ = self._compiled.setdefault(id(compiled), (len(self._compiled), compiled))
        record["compiled"] = number

    def _once(self, kind: str) -> None:
        """The host waited for the device, or gave free memory back to the driver; twice in a row is once."""
        if self.events and self.events[-1]["kind"] != kind:
            self._bury()
            if self.events[-1]["kind"] != kind:
                self._add({"kind": kind})

    def _bury(self) -> None:
        for key in list(self._live):
            if self._gone(key):
                self._add({"kind": "free", "storage": self._live.pop(key)[0]})

    def _gone(self, key: int) -> bool:
        expired = self._live[key][1]
        return bool(expired is not None and expired())

    def _add(self, event: Record) -> None:
        self.count += 1
        self.events.append(event)

    # What is told of it

    def to_record(self) -> Record:
        """`events` in order, `launches` (each different one once; events name them by index) and their `definitions`.
        `left_out`: events that were too long ago. `trouble`: why some launches could not be written down."""
        sources = Sources()
        launches: List[Record] = []
        known: Dict[str, int] = {}
        trouble: Set[str] = set()
        events: List[Record] = []
        seen: Set[Any] = set()
        for event in self.events:
            if event["kind"] != "launch":
                events.append(event)
                continue
            text = self._told(event["record"], sources, trouble)
            if text is None:
                continue
            for argument in text["arguments"]:
                _first_content_only(argument, seen)
            key = json.dumps(text, sort_keys=True)
            if key not in known:
                known[key] = len(launches)
                launches.append(text)
            events.append({"kind": "launch", "launch": known[key]})
        return {
            "events": events,
            "launches": launches,
            "definitions": sources.definitions,
            "left_out": self.count - len(self.events),
            "trouble": sorted(trouble),
        }

    def _told(self, record: Record, sources: Any, trouble: Set[str]) -> Optional[Record]:
        name = getattr(record["kernel"], "__name__", "?")
        if record["trouble"] or record["grid"] is None:
            trouble.add("%s: %s" % (name, record["trouble"] or "its grid is not known"))
            return None
        storages = {number: number for number in range(self.storages)}  # they are numbered for the whole run
        try:
            return {
                "kernel": sources.function(record["kernel"], record["specialised"]),
                "how": record["how"],
                "compiled": record.get("compiled"),
                "grid": record["grid"],
                "arguments": [record_text.as_text(sources, storages, argument) for argument in record["arguments"]],
                "options": [record_text.as_text(sources, storages, option) for option in record["options"]],
                "allocator": bool(record["allocator"] and record["scratch"] != 0),
            }
        except Exception as error:
            trouble.add("%s: %s" % (name, error))
            return None


def _first_content_only(argument: Record, seen: Set[Any]) -> None:
    """What a tensor holds when a launch gets it first is an input; later it is the work of those before."""
    if "storage" in argument:
        shape, strides = str(argument["shape"]), str(argument["strides"])
        view = (argument["storage"], argument["dtype"], shape, strides, argument["offset"])
        if view in seen:
            argument.pop("content", None)
        seen.add(view)
    for inner in [*argument.get("items", ()), *([argument["base"]] if "base" in argument else [])]:
        _first_content_only(inner, seen)


def _weak(storage: Any) -> Optional[Callable[[], bool]]:
    """Asks whether a storage is gone, and keeps its address from being given to another one; None if that cannot be
    asked. Python's own references do not tell: a storage may outlive the object that we see it by."""
    try:
        from torch.multiprocessing.reductions import StorageWeakRef

        expired: Callable[[], bool] = StorageWeakRef(storage).expired
        return expired
    except Exception:
        return None

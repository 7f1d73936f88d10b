"""CUDA graphs: launches that are recorded first, and run when the host replays them.

What is captured does not run, so to write it down as a launch at that moment would be wrong in two ways: in the order
of launches (the last one replayed is the suspect, however early it was recorded) and in what its tensors hold. Both are
made good at `replay`, by the host's part of it alone. Only Triton's kernels are seen in a graph; copies and torch's
own kernels in it are not.
"""

from __future__ import annotations

import sys
import weakref
from typing import Any, Callable, Dict, List, Tuple

from . import description

Record = Dict[str, Any]


class Graphs:
    """The graphs of one candidate. `description.NOTES` bring each tensor by."""

    def __init__(self, capture: Any) -> None:
        self.capture = capture
        self._listening = False
        self._recorded: List[Record] = []
        self._tensors: List[Tuple[Any, Record]] = []
        self._known: "weakref.WeakKeyDictionary[Any, Tuple[List[Record], List[Tuple[Any, Record]]]]"
        self._known = weakref.WeakKeyDictionary()

    def install(self) -> None:
        description.add_note(self.note, self.capture.patches)

    def note(self, value: Any, about: Record) -> None:
        """A tensor is described for a launch. What it holds is known when the launch runs."""
        if "content" in about and _is_capturing():
            self._tensors.append((weakref.ref(value), about))

    def recording(self, record: Record) -> bool:
        """Whether a launch that is about to be described goes into a graph, and not to the device."""
        if not _is_capturing():
            return False
        if not self._listening:
            self._listening = True
            graph: Any = sys.modules["torch"].cuda.CUDAGraph
            self.capture.patches.wrap(graph, "capture_end", self._capture_end)
            self.capture.patches.wrap(graph, "replay", self._replay)
        record["graph"] = True
        return True

    def keep(self, record: Record) -> None:
        """This launch is in the graph now."""
        self._recorded.append(record)

    def _capture_end(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def capture_end(graph: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(graph, *args, **kwargs)
            if self.capture.at_work:
                self._known[graph] = (self._recorded, self._tensors)
                self._recorded, self._tensors = [], []
            return result

        return capture_end

    def _replay(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def replay(graph: Any, *args: Any, **kwargs: Any) -> Any:
            if self.capture.at_work:
                self._note_replay(*self._known.get(graph, ([], [])))
            return original(graph, *args, **kwargs)

        return replay

    def _note_replay(self, records: List[Record], tensors: List[Tuple[Any, Record]]) -> None:
        while tensors:  # the first replay tells what they hold: later it is the kernels' own work
            reference, about = tensors.pop(0)
            value = reference()
            if value is not None:
                now: Record = {}
                self.capture.contents.note(value, now)
                about["content"].clear()  # in place: the record has a copy of `about`, but this very object
                about["content"].update(now["content"])
        for record in records:
            self.capture.note_replay(record)


def _is_capturing() -> bool:
    torch: Any = sys.modules.get("torch")
    try:
        return bool(torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing())
    except Exception:  # a torch without CUDA, or none
        return False

"""Capture: writes down what a launch is made of, so that a script with nothing but that launch can be made of it.

Only while asked for (`RunSettings.capture`). Each launch is described before it runs, by shapes, strides and scalars.
The first of each kind is also written to a file before it runs, in full (`blackbox`), so that the last one is there
when the process dies of it. Nothing reads device memory, waits for the device, or keeps a tensor alive.

Three doors lead to a launch: `JITFunction.run` here, Inductor's launchers in `inductor`, and `kernel[grid]` of a kernel
that the script compiled itself in `precompiled`; all of them in child processes, too, by `child_processes`.
"""

from __future__ import annotations

import functools
import os
import time
from collections import OrderedDict
from typing import Any, Callable, Dict, List, Optional

from ..process import import_hook
from . import (
    blackbox,
    contents,
    description,
    graphs,
    history,
    inductor_launches,
    launch_kind,
    precompiled,
    record_text,
    schema,
    tuning,
)

Record = Dict[str, Any]

REMEMBERED = 64
"""Launches described, one of each kind, of which the latest few are told."""


class Capture:
    """The launches of one candidate. `watch` knows which of them ends in a fault, on the virtual GPU."""

    def __init__(self, watch: Any, mode: str = "launch", box: Optional[blackbox.BlackBox] = None) -> None:
        self.watch, self.mode, self.box = watch, mode, box
        self.records: "OrderedDict[Any, Record]" = OrderedDict()
        self.undo: List[Callable[[], None]] = []
        self.history = history.History(self) if mode == "values" else None
        self.graphs = graphs.Graphs(self)
        self.contents: Optional[contents.Contents] = None
        """Where what tensors hold is written down, too."""
        self.at_work = False
        self._claimed = 0
        self._kernels: Dict[int, Any] = {}  # kinds name kernels by their ids, so what they name must live

    def install(self) -> None:
        """Wrap the doors, each once the script has imported it."""
        self.at_work = True
        if self.box is not None:
            self.watch.listeners.append(_ChildEvents(self.watch, self.box))
        import_hook.when_imported("triton", self._wrap)
        tuning.install(self.undo)
        precompiled.install(self)
        inductor_launches.install(self)
        if self.history is not None:
            self.history.install()
        self.graphs.install()

    def _wrap(self) -> None:
        """Wrap `JITFunction.run`, the door by which launches go in every Triton since 3.0, autotuned ones too."""
        if not self.at_work:
            return
        try:
            from triton.runtime.jit import JITFunction
        except ImportError:
            return
        jit: Any = JITFunction
        original = jit.run

        @functools.wraps(original)
        def run(kernel: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
            if not self.at_work:
                return original(kernel, *args, grid=grid, warmup=warmup, **kwargs)
            if warmup:
                return self._ahead(original, kernel, args, grid, kwargs)
            return self._launch(original, kernel, args, grid, kwargs)

        jit.run = run
        self.undo.append(lambda: setattr(jit, "run", original))

    def end(self) -> schema.Captured:
        """Take the wrappers off again (a lane may go on with another candidate), and tell what was seen."""
        self.at_work = False
        while self.undo:
            self.undo.pop()()
        if self.box is not None:
            self.box.close()
        return self.to_record()

    def to_record(self) -> schema.Captured:
        """`launches`: the one that faults where that is known, else the latest, latest first. Each is a record that
        `shrinkray_gpu.lift` makes a script of, or says in `trouble` why it cannot be written down. `children`: what
        child processes launched; their records are among the launches, with their `process`."""
        launches = self.watch.launches
        entries = [
            {
                "time": record["time"],
                "tuning": record["tuning"],
                "raised": record["raised"],
                "fault": any(launches[i]["fault"] for i in record["launches"] if i < len(launches)),
                "record": record,
            }
            for record in self.records.values()
        ]
        processes = blackbox.read(self.box.folder) if self.box is not None else []
        entries += [entry for process in processes[1:] for entry in process["entries"]]
        return schema.sound(
            {
                "launches": [_in_words(record) for record in blackbox.suspects(entries)],
                "children": blackbox.children(processes),
                "history": self.history.to_record() if self.history is not None else None,
            }
        )

    def _launch(self, original: Callable[..., Any], kernel: Any, args: Any, grid: Any, kwargs: Record) -> Any:
        record = self.record(kernel, "jit")
        try:
            description.describe_call(record, kernel, args, kwargs)
        except Exception as error:  # a launch that we cannot describe must go on all the same
            record["trouble"] = "%s: %s" % (type(error).__name__, error)
        sizes = grid
        if callable(grid):

            def sizes(meta: Any) -> Any:
                found = grid(meta)
                record["grid"] = description.grid(found)
                self.note_grid(record)
                return found

        else:
            record["grid"] = description.grid(grid)

        def guessed() -> Optional[List[int]]:
            return (
                description.grid_of(grid, kernel, dict(zip(kernel.arg_names, args)), kwargs) if callable(grid) else None
            )

        def go() -> Any:
            return original(kernel, *args, grid=sizes, warmup=False, **kwargs)

        return self.launch(record, go, guessed)

    def _ahead(self, original: Callable[..., Any], kernel: Any, args: Any, grid: Any, kwargs: Record) -> Any:
        """`kernel.warmup(...)` compiles only. One that fails is written down as a launch, which fails alike."""
        record = self.record(kernel, "jit")
        record["grid"] = [1] if callable(grid) else description.grid(grid)
        try:
            description.describe_call(record, kernel, args, kwargs)
        except Exception as error:
            record["trouble"] = "%s: %s" % (type(error).__name__, error)
        return self.compile(record, lambda: original(kernel, *args, grid=grid, warmup=True, **kwargs))

    def record(self, kernel: Any, how: str) -> Record:
        """The record of a launch that is about to be described."""
        record: Record = {"kernel": kernel, "how": how, "grid": None, "scratch": None, "trouble": "", "specialised": {}}
        record.update(launches=[], raised=False, tuning=tuning.now(), time=time.monotonic_ns())
        record["allocator"] = description.allocator_set()
        return record

    def is_unclaimed(self, kernel: Any) -> bool:
        """Whether the watch has seen a launch of this compiled kernel that is not on record here yet."""
        seen = self.watch.launches[self._claimed :]
        return bool(seen) and bool(seen[-1]["hash"] == getattr(kernel, "hash", None))

    def launch(
        self, record: Record, go: Callable[[], Any], guessed: Callable[[], Optional[List[int]]], watched: bool = False
    ) -> Any:
        """Let a described launch go, and keep its record. `guessed` is its grid, should it fail before it is asked
        for: its kernel does not compile. `watched`: the watch has seen it already."""
        before = len(self.watch.launches) - watched
        record["kind"] = launch_kind.kind(record)
        into_graph = self.graphs.recording(record)
        self._kernels.setdefault(id(record["kernel"]), record["kernel"])
        if self.box is not None:
            if record["grid"] is None and not self.box.knows(record["kind"]):
                record["grid"] = guessed()
            self.box.before(record["kind"], lambda: record_text.in_words(record), launch_kind.state(record))
        if self.history is not None and not into_graph:
            self.history.launching(record)
        try:
            compiled = go()
        except BaseException as error:
            # A sticky error of an earlier launch surfaces here too, and says nothing of this one.
            record["raised"] = "[CUDA]" not in str(error) or os.environ.get("CUDA_LAUNCH_BLOCKING") == "1"
            if record["grid"] is None:
                record["grid"] = guessed()
            self._keep(record, before)
            raise
        if self.history is not None:
            self.history.note_launch(record, compiled)
        record["scratch"] = getattr(getattr(compiled, "metadata", None), "global_scratch_size", None)
        self._keep(record, before)
        if into_graph:
            self.graphs.keep(record)
        return compiled

    def note_replay(self, record: Record) -> None:
        """A launch that was recorded in a CUDA graph runs now."""
        if self.box is not None:
            self.box.again(record["kind"], launch_kind.state(record))
        if self.history is not None:
            self.history.launching(record)
        key = (record["kind"], record["faulted"])
        kept = record if not record["faulted"] else self.records.get(key, record)
        kept["time"] = time.monotonic_ns()
        self.records[key] = kept
        self.records.move_to_end(key)

    def compile(self, record: Record, go: Callable[[], Any]) -> Any:
        """Let a kernel compile that is launched later, and then described anew: its record stays if it fails."""
        record["kind"] = launch_kind.kind(record)
        self._kernels.setdefault(id(record["kernel"]), record["kernel"])
        if self.box is not None:
            self.box.before(record["kind"], lambda: record_text.in_words(record), launch_kind.state(record))
        try:
            found = go()
        except BaseException:
            record["raised"] = True
            self._keep(record, len(self.watch.launches))
            raise
        if self.box is not None:
            self.box.again(record["kind"], {"over": True})
        return found

    def note_grid(self, record: Record) -> None:
        """The grid of a launch in its last moment before it goes."""
        if self.box is not None:
            self.box.again(record["kind"], launch_kind.state(record))

    def _keep(self, record: Record, before: int) -> None:
        """One record of each kind; launches that differ in scalars alone are of one kind, unless one faults."""
        now = range(before, len(self.watch.launches))
        self._claimed = len(self.watch.launches)
        fault = record["faulted"] = any(self.watch.launches[i]["fault"] for i in now)
        if self.box is not None and (fault or record["raised"]):
            self.box.again(record["kind"], {**launch_kind.state(record), "fault": fault})
        kind = (record["kind"], fault)
        if fault and kind in self.records:
            return  # the first one is the one that the host learns of
        if kind in self.records:  # what was a trial and then asked for, or the other way round, is no mere trial
            record["tuning"] = record["tuning"] and self.records[kind]["tuning"]
        record["launches"] = list(now)
        self.records[kind] = record
        self.records.move_to_end(kind)
        if len(self.records) > REMEMBERED:
            self.records.popitem(last=False)


def _in_words(record: Record) -> Record:
    """The record as a child process wrote it down, or one of this process, still with its live objects."""
    return record if isinstance(record["kernel"], str) else record_text.in_words(record)


class _ChildEvents:
    """Tells the launches and compilations of a child as they happen."""

    def __init__(self, watch: Any, box: blackbox.BlackBox) -> None:
        self.watch, self.box = watch, box

    def compiled(self, kernel: Any) -> None:
        self.failed()

    def failed(self) -> None:
        compiled = {k: v for k, v in self.watch.compiles[-1].items() if k != "ir"}
        self.box.event("compile", compiled)

    def launching(self, kernel: Any) -> None:
        self.box.event("launch", self.watch.launches[-1])


def begin(watch: Any, mode: str = "launch", folder: str = "", *, first: bool = True) -> Capture:
    """A capture at work from now on. `mode`: `launch` by shapes and strides, `values` with contents, too. `folder` is
    where the records go before each launch, also those of child processes; empty: nowhere. `first`: this is the
    script's own process."""
    capture = Capture(watch, mode, blackbox.BlackBox(folder, first=first) if folder else None)
    if mode == "values":
        capture.contents = contents.Contents(contents.beside(folder), lambda tensor: str(watch.describe(tensor)))
        note = capture.contents.note
        description.NOTES.append(note)
        capture.undo.append(lambda: description.NOTES.remove(note))
    capture.install()
    return capture

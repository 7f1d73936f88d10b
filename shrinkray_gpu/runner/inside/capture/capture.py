"""Capture: writes down what a launch is made of, so that a script with nothing but that launch can be made of it.

Only while asked for (`RunSettings.capture`). Each launch is described before it runs, by shapes, strides and scalars.
The first of each kind is also written to a file before it runs, in full (`blackbox`), so that the last one is there
when the process dies of it. Nothing reads device memory, waits for the device, or keeps a tensor alive.

Three doors lead to a launch: `JITFunction.run` here, Inductor's launchers in `inductor_launches`, and `kernel[grid]` of
a kernel that the script compiled itself in `precompiled`. What is compiled and not launched goes by `compilations`. All
of them in child processes, too, by `child_processes`.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import OrderedDict
from typing import Any, Callable, Dict, List, Optional

from ..process.patches import Patches
from ..process.trouble import note_trouble
from . import (
    blackbox,
    compilations,
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
    """The launches of one candidate. `log` knows which of them ends in a fault, on the virtual GPU."""

    def __init__(self, log: Any, mode: str, box: blackbox.BlackBox) -> None:
        self.log, self.box = log, box
        self.records: "OrderedDict[Any, Record]" = OrderedDict()
        self.patches = Patches()
        self.history = history.History(self) if mode == "values" else None
        self.graphs = graphs.Graphs(self)
        self.contents: Optional[contents.Contents] = None
        """Where what tensors hold is written down, too."""
        self._claimed = 0
        self._here = threading.local()
        self._kernels: Dict[int, Any] = {}  # kinds name kernels by their ids, so what they name must live

    @property
    def at_work(self) -> bool:
        return not self.patches.over

    def install(self) -> None:
        """Wrap the doors, each once the script has imported it."""
        self.log.listeners.append(_ChildEvents(self.log, self.box))
        self.patches.on_import("triton", self._wrap)
        tuning.install(self.patches)
        precompiled.install(self)
        compilations.install(self)
        inductor_launches.install(self)
        if self.history is not None:
            self.history.install()
        self.graphs.install()

    def _wrap(self, _: Any) -> None:
        with contextlib.suppress(ImportError):
            from triton.runtime.jit import JITFunction

            self.patches.wrap(JITFunction, "run", self._jit_run)

    def _jit_run(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """`JITFunction.run`, the door by which launches go in every Triton since 3.0, autotuned ones too."""

        def run(kernel: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
            if not self.at_work:
                return original(kernel, *args, grid=grid, warmup=warmup, **kwargs)
            if warmup and compilations.script_is_driver():
                return original(kernel, *args, grid=grid, warmup=True, **kwargs)
            record = self.record(kernel, "warmup" if warmup else "jit")
            with note_trouble(record):
                description.describe_call(record, kernel, args, kwargs)
            if warmup:  # compiles only
                record["grid"] = [1] if callable(grid) else description.grid(grid)
                return self.compile(record, lambda: original(kernel, *args, grid=grid, warmup=True, **kwargs))

            def sizes(meta: Any) -> Any:
                found = grid(meta)
                record["grid"] = description.grid(found)
                self.box.again(record["kind"], launch_kind.state(record))
                return found

            def guess_grid() -> Optional[List[int]]:
                given = dict(zip(kernel.arg_names, args))
                return description.grid_of(grid, kernel, given, kwargs) if callable(grid) else None

            record["grid"] = None if callable(grid) else description.grid(grid)
            asked = sizes if callable(grid) else grid
            go = lambda: original(kernel, *args, grid=asked, warmup=False, **kwargs)  # noqa: E731
            return self.launch(record, go, guess_grid)

        return run

    def end(self) -> schema.Captured:
        """Take the wrappers off again (a lane may go on with another candidate), and tell what was seen."""
        self.patches.undo()
        self.box.close()
        return self.to_record()

    def to_record(self) -> schema.Captured:
        """`launches`: the one that faults where that is known, else the latest, latest first. Each is a record that
        `shrinkray_gpu.lift` makes a script of, or says in `trouble` why it cannot be written down. `children`: what
        child processes launched; their records are among the launches, with their `process`."""
        launches = self.log.launches
        entries = [
            {
                **{name: record[name] for name in ("time", "tuning", "raised")},
                "fault": any(launches[i]["fault"] for i in record["launches"] if i < len(launches)),
                "record": record,
            }
            for record in self.records.values()
        ]
        processes = blackbox.read(self.box.folder)
        entries += [entry for process in processes[1:] for entry in process["entries"]]
        suspects = blackbox.suspects(entries)
        return schema.sound(
            {
                # What a child process wrote down is in words; what is of this one has its live objects.
                "launches": [r if isinstance(r["kernel"], str) else record_text.in_words(r) for r in suspects],
                "children": blackbox.children(processes),
                "history": self.history.to_record() if self.history is not None else None,
            }
        )

    def record(self, kernel: Any, how: str) -> Record:
        """The record of a launch that is about to be described."""
        record: Record = {"kernel": kernel, "how": how, "grid": None, "scratch": None, "trouble": "", "specialised": {}}
        record.update(launches=[], raised=False, tuning=tuning.now(), time=time.monotonic_ns())
        record["allocator"] = description.allocator_set()
        return record

    @property
    def busy(self) -> bool:
        """Whether this thread is in a launch, or a compilation, that is on record."""
        return bool(getattr(self._here, "busy", False))

    def _let_go(self, go: Callable[[], Any]) -> Any:
        before, self._here.busy = self.busy, True
        try:
            return go()
        finally:
            self._here.busy = before

    def is_unclaimed(self, kernel: Any) -> bool:
        """Whether the log has a launch of this compiled kernel that is not on record here yet."""
        seen = self.log.launches[self._claimed :]
        return bool(seen) and bool(seen[-1]["hash"] == getattr(kernel, "hash", None))

    def launch(
        self,
        record: Record,
        go: Callable[[], Any],
        guess_grid: Callable[[], Optional[List[int]]],
        is_logged: bool = False,
    ) -> Any:
        """Let a described launch go, and keep its record. `guess_grid` is asked should it fail before it asks for its
        grid: its kernel does not compile. `is_logged`: it is in the log already."""
        before = len(self.log.launches) - is_logged
        record["kind"] = launch_kind.kind(record)
        into_graph = self.graphs.recording(record)
        if record["grid"] is None and not self.box.knows(record["kind"]):
            record["grid"] = guess_grid()
        self._write_ahead(record)
        if self.history is not None and not into_graph:
            self.history.launching(record)
        try:
            compiled = self._let_go(go)
        except BaseException as error:
            # A sticky error of an earlier launch surfaces here too, and says nothing of this one.
            record["raised"] = "[CUDA]" not in str(error) or os.environ.get("CUDA_LAUNCH_BLOCKING") == "1"
            if record["grid"] is None:
                record["grid"] = guess_grid()
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
        self.box.again(record["kind"], launch_kind.state(record))
        if self.history is not None:
            self.history.launching(record)
        key = (record["kind"], record["faulted"])
        kept = record if not record["faulted"] else self.records.get(key, record)
        kept["time"] = time.monotonic_ns()
        self.records[key] = kept
        self.records.move_to_end(key)

    def compile(self, record: Record, go: Callable[[], Any]) -> Any:
        """Let a kernel compile. Its record stays if it fails, or if nothing may ever launch it; a launch of it later is
        described anew."""
        record["kind"] = launch_kind.kind(record)
        self._write_ahead(record)
        try:
            found = self._let_go(go)
        except BaseException:
            record["raised"] = True
            self._keep(record, len(self.log.launches))
            raise
        if record["how"] in compilations.ONLY_COMPILED:
            self._keep(record, len(self.log.launches))
        else:
            self.box.again(record["kind"], {"over": True})
        return found

    def _write_ahead(self, record: Record) -> None:
        """Into the black box, before this process may die of it."""
        self._kernels.setdefault(id(record["kernel"]), record["kernel"])
        self.box.before(record["kind"], lambda: record_text.in_words(record), launch_kind.state(record))

    def _keep(self, record: Record, before: int) -> None:
        """One record of each kind; launches that differ in scalars alone are of one kind, unless one faults."""
        now = range(before, len(self.log.launches))
        self._claimed = len(self.log.launches)
        fault = record["faulted"] = any(self.log.launches[i]["fault"] for i in now)
        if fault or record["raised"]:
            self.box.again(record["kind"], {**launch_kind.state(record), "fault": fault})
        kind = (record["kind"], fault)
        if fault and kind in self.records:
            return  # the first one is the one that the host learns of
        if kind in self.records:  # what was a trial and then asked for, or the other way round, is no mere trial
            record["tuning"] = record["tuning"] and self.records[kind]["tuning"]
        record["launches"] = list(now)
        self.records[kind] = record
        self.records.move_to_end(kind)
        if len(self.records) > REMEMBERED:  # a build of many kernels must not push out what was launched
            only = (each for each, kept in self.records.items() if kept["how"] in compilations.ONLY_COMPILED)
            self.records.pop(next(only, next(iter(self.records))))


class _ChildEvents:
    """Tells the launches and compilations of a child as they happen."""

    def __init__(self, log: Any, box: blackbox.BlackBox) -> None:
        self.log, self.box = log, box

    def compiled(self, kernel: Any) -> None:
        self.failed()

    def failed(self) -> None:
        compiled = {k: v for k, v in self.log.compiles[-1].items() if k != "ir"}
        self.box.event("compile", compiled)

    def launching(self, kernel: Any) -> None:
        self.box.event("launch", self.log.launches[-1])


def begin(log: Any, mode: str, folder: str, *, first: bool = True) -> Capture:
    """A capture at work from now on. `mode`: `launch` by shapes and strides, `values` with contents, too. `folder` is
    where the records go before each launch, also those of child processes. `first`: this is the script's own
    process."""
    capture = Capture(log, mode, blackbox.BlackBox(folder, first=first))
    if mode == "values":
        capture.contents = contents.Contents(contents.beside(folder), lambda tensor: str(log.describe(tensor)))
        description.add_note(capture.contents.note, capture.patches)
    capture.install()
    return capture

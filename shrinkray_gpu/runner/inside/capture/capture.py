"""Capture: writes down what a launch is made of, so that a script with nothing but that launch can be made of it.

Only while asked for (`Request.capture`). Each launch is described before it runs, by shapes, strides and scalars. The
first of each kind is also written to a file before it runs, in full (`blackbox`), so that the last one is there when
the process dies of it. Nothing reads device memory, waits for the device, or keeps a tensor alive.

Three doors lead to a launch: `JITFunction.run` here, Inductor's launchers in `inductor`, and `kernel[grid]` of a kernel
that the script compiled itself in `precompiled`; all of them in child processes, too, by `child_processes`.
"""

from __future__ import annotations

import functools
import math
import os
import sys
import time
import traceback
from collections import OrderedDict
from typing import Any, Callable, Dict, List, Optional, Tuple

from ..process import import_hook
from . import blackbox, contents, graphs, history, inductor_launches, overlaps, precompiled, tuning
from .kernelsource import Sources, Unliftable, is_jit

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
            self.watch.listeners.append(_Told(self.watch, self.box))
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

    def end(self) -> Record:
        """Take the wrappers off again (a lane may go on with another candidate), and tell what was seen."""
        self.at_work = False
        while self.undo:
            self.undo.pop()()
        if self.box is not None:
            self.box.close()
        return self.found()

    def found(self) -> Record:
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
        return {
            "launches": [r if isinstance(r["kernel"], str) else _written(r) for r in blackbox.suspects(entries)],
            "children": blackbox.children(processes),
            "history": self.history.found() if self.history is not None else None,
        }

    def _launch(self, original: Callable[..., Any], kernel: Any, args: Any, grid: Any, kwargs: Record) -> Any:
        record = self.record(kernel, "jit")
        try:
            _describe(record, kernel, args, kwargs)
        except Exception as error:  # a launch that we cannot describe must go on all the same
            record["trouble"] = "%s: %s" % (type(error).__name__, error)
        sizes = grid
        if callable(grid):

            def sizes(meta: Any) -> Any:
                found = grid(meta)
                record["grid"] = _grid(found)
                self.known(record)
                return found

        else:
            record["grid"] = _grid(grid)

        def guessed() -> Optional[List[int]]:
            return _grid_of(grid, kernel, dict(zip(kernel.arg_names, args)), kwargs) if callable(grid) else None

        def go() -> Any:
            return original(kernel, *args, grid=sizes, warmup=False, **kwargs)

        return self.launch(record, go, guessed)

    def _ahead(self, original: Callable[..., Any], kernel: Any, args: Any, grid: Any, kwargs: Record) -> Any:
        """`kernel.warmup(...)` compiles only. One that fails is written down as a launch, which fails alike."""
        record = self.record(kernel, "jit")
        record["grid"] = [1] if callable(grid) else _grid(grid)
        try:
            _describe(record, kernel, args, kwargs)
        except Exception as error:
            record["trouble"] = "%s: %s" % (type(error).__name__, error)
        return self.compile(record, lambda: original(kernel, *args, grid=grid, warmup=True, **kwargs))

    def record(self, kernel: Any, how: str) -> Record:
        """The record of a launch that is about to be described."""
        record: Record = {"kernel": kernel, "how": how, "grid": None, "scratch": None, "trouble": "", "specialised": {}}
        record.update(launches=[], raised=False, tuning=tuning.now(), time=time.monotonic_ns())
        record["allocator"] = _allocator_set()
        return record

    def unclaimed(self, kernel: Any) -> bool:
        """Whether the watch has seen a launch of this compiled kernel that is not on record here yet."""
        seen = self.watch.launches[self._claimed :]
        return bool(seen) and bool(seen[-1]["hash"] == getattr(kernel, "hash", None))

    def launch(
        self, record: Record, go: Callable[[], Any], guessed: Callable[[], Optional[List[int]]], watched: bool = False
    ) -> Any:
        """Let a described launch go, and keep its record. `guessed` is its grid, should it fail before it is asked
        for: its kernel does not compile. `watched`: the watch has seen it already."""
        before = len(self.watch.launches) - watched
        record["kind"] = _kind(record)
        into_graph = self.graphs.recording(record)
        self._kernels.setdefault(id(record["kernel"]), record["kernel"])
        if self.box is not None:
            if record["grid"] is None and not self.box.knows(record["kind"]):
                record["grid"] = guessed()
            self.box.before(record["kind"], lambda: _written(record), _state(record))
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
            self.history.launched(record, compiled)
        record["scratch"] = getattr(getattr(compiled, "metadata", None), "global_scratch_size", None)
        self._keep(record, before)
        if into_graph:
            self.graphs.keep(record)
        return compiled

    def replayed(self, record: Record) -> None:
        """A launch that was recorded in a CUDA graph runs now."""
        if self.box is not None:
            self.box.again(record["kind"], _state(record))
        if self.history is not None:
            self.history.launching(record)
        key = (record["kind"], record["faulted"])
        kept = record if not record["faulted"] else self.records.get(key, record)
        kept["time"] = time.monotonic_ns()
        self.records[key] = kept
        self.records.move_to_end(key)

    def compile(self, record: Record, go: Callable[[], Any]) -> Any:
        """Let a kernel compile that is launched later, and then described anew: its record stays if it fails."""
        record["kind"] = _kind(record)
        self._kernels.setdefault(id(record["kernel"]), record["kernel"])
        if self.box is not None:
            self.box.before(record["kind"], lambda: _written(record), _state(record))
        try:
            found = go()
        except BaseException:
            record["raised"] = True
            self._keep(record, len(self.watch.launches))
            raise
        if self.box is not None:
            self.box.again(record["kind"], {"over": True})
        return found

    @staticmethod
    def describe(record: Record, given: Record, options: Record) -> None:
        """Fill in a launch's arguments and options, by name."""
        kernel = record["kernel"]
        record["arguments"] = [
            {"name": p.name, "constexpr": bool(p.is_constexpr), **_argument(given[p.name])}
            for p in kernel.params
            if p.name in given
        ]
        record["options"] = [{"name": name, **_argument(value)} for name, value in options.items() if value is not None]

    def known(self, record: Record) -> None:
        """The grid of a launch in its last moment before it goes."""
        if self.box is not None:
            self.box.again(record["kind"], _state(record))

    def _keep(self, record: Record, before: int) -> None:
        """One record of each kind; launches that differ in scalars alone are of one kind, unless one faults."""
        now = range(before, len(self.watch.launches))
        self._claimed = len(self.watch.launches)
        fault = record["faulted"] = any(self.watch.launches[i]["fault"] for i in now)
        if self.box is not None and (fault or record["raised"]):
            self.box.again(record["kind"], {**_state(record), "fault": fault})
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


class _Told:
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


def _describe(record: Record, kernel: Any, args: Any, kwargs: Record) -> None:
    names = list(kernel.arg_names)
    given = {**dict(zip(names, args)), **{k: v for k, v in kwargs.items() if k in names}}
    Capture.describe(record, given, {name: value for name, value in kwargs.items() if name not in names})


def _argument(value: Any) -> Record:
    if hasattr(value, "data_ptr") and hasattr(value, "untyped_storage"):
        return {"kind": "tensor", **_tensor(value)}
    if type(value).__name__ == "MockTensor":  # a type that `warmup` was given instead of a tensor
        return inductor_launches.pointer(str(value.dtype).rpartition(".")[2], id(value), aligned=True)
    base = getattr(value, "base", None)
    if hasattr(base, "data_ptr") and hasattr(value, "block_shape"):
        layout = getattr(value, "layout", None)  # Gluon's
        if layout is not None and type(value).__name__ != "TensorDescriptor":
            return {"kind": "unknown", "text": "a descriptor of type %s" % type(value).__name__}
        return {
            "kind": "descriptor",
            **({"layout": layout, "module": type(value).__module__} if layout is not None else {}),
            "base": _tensor(base),
            "shape": _numbers(value.shape),
            "strides": _numbers(value.strides),
            "block_shape": _numbers(value.block_shape),
            "padding": str(getattr(value, "padding", "zero")),
            "round_f32_to_tf32": bool(getattr(value, "round_f32_to_tf32", False)),
        }
    if hasattr(base, "data_ptr") and hasattr(base, "untyped_storage"):  # triton.reinterpret
        return {"kind": "reinterpreted", "base": _tensor(base), "value": value.dtype}
    if isinstance(value, (tuple, list)) and any(hasattr(item, "data_ptr") or isinstance(item, tuple) for item in value):
        named = {"named": type(value)} if hasattr(type(value), "_fields") else {}
        return {"kind": "tuple", "items": [_argument(item) for item in value], **named}
    return {"kind": "value", "value": value}


NOTES: List[Callable[[Any, Record], None]] = []
"""Asked of each tensor described what else to write down of it."""


def _tensor(value: Any) -> Record:
    storage = value.untyped_storage()
    about: Record = {
        "dtype": str(value.dtype).rpartition(".")[2],
        "shape": _numbers(value.shape),
        "strides": _numbers(value.stride()),
        "offset": int(value.storage_offset()),
        "storage": storage._cdata if not storage.data_ptr() else storage.data_ptr(),
        "bytes": int(storage.nbytes()),
        "address": storage.data_ptr(),
        # An allocation starts at a multiple of 512 on a GPU, of 64 on the CPU; one made of foreign memory may not.
        "residue": storage.data_ptr() % 16,
        "device": value.device.type,
    }
    for note in NOTES:
        note(value, about)
    return about


def _numbers(values: Any) -> List[int]:
    return [int(n) for n in ((values,) if isinstance(values, int) else values)]


def _grid(values: Any) -> Optional[List[int]]:
    """None where it is no grid: then the launch is about to say so."""
    try:
        return _numbers(values)
    except (TypeError, ValueError):
        return None


def _grid_of(grid: Callable[[Any], Any], kernel: Any, args: Record, kwargs: Record) -> Optional[List[int]]:
    """The grid of a launch whose grid was not asked for yet."""
    meta = {p.name: p.default for p in kernel.params if p.has_default}
    meta.update(args)
    meta.update(kwargs)
    try:
        return _numbers(grid(meta))
    except Exception:  # then compiling fails before it is asked for, and does not depend on it
        return [1]


def _kind(record: Record) -> Tuple[Any, ...]:
    """What tells one kind of launch from another: all but addresses, and of scalars only what the compiler sees."""
    storages: Dict[int, int] = {}
    arguments = tuple(_sort(argument, storages) for argument in record.get("arguments", ()))
    options = tuple((option["name"], _sort(option, storages)) for option in record.get("options", ()))
    return (id(record["kernel"]), record["how"], record["trouble"], arguments, options)


def _sort(argument: Record, storages: Dict[int, int]) -> Tuple[Any, ...]:
    if argument["kind"] == "value":
        value = argument["value"]
        if type(value) is int and not argument.get("constexpr"):
            return ("int", value == 1, value % 16 == 0, -(2**31) <= value < 2**31)
        return ("float",) if type(value) is float and not argument.get("constexpr") else (type(value), _word(value))
    if "items" in argument:
        return ("tuple", *(_sort(item, storages) for item in argument["items"]))
    if "base" in argument:
        rest = sorted((k, _word(v)) for k, v in argument.items() if k not in ("base", "name"))
        return (_sort({"kind": "tensor", **argument["base"]}, storages), *rest)
    if "storage" not in argument:
        return (argument["kind"],)
    number = storages.setdefault(argument["storage"], len(storages))
    sizes = (tuple(argument["shape"]), tuple(argument["strides"]), argument["offset"] % 16, argument["residue"])
    return (argument["dtype"], *sizes, argument["device"], number)


def _word(value: Any) -> Any:
    """A short word for a constant: a jit function's repr would hold its whole text in some versions."""
    return id(value) if callable(value) and not isinstance(value, type) else repr(value)


def _state(record: Record) -> Record:
    """What the launches of one kind do not share, for the black box."""
    values = [
        (index, repr(argument["value"]))
        for index, argument in enumerate(record.get("arguments", ()))
        if argument["kind"] == "value" and not argument.get("constexpr") and _plain(argument["value"])
    ]
    return {"grid": record["grid"], "values": values, "tuning": record["tuning"], "raised": record["raised"]}


def _plain(value: Any) -> bool:
    return type(value) in (int, bool) or type(value) is float and math.isfinite(value)


def _allocator_set() -> bool:
    """Whether the script gave Triton an allocator, which device-made descriptors need."""
    module = sys.modules.get("triton.runtime._allocation")
    found: Any = getattr(module, "_allocator", None)
    if hasattr(found, "get"):  # a ContextVar from 3.6 on, the allocator itself before
        found = found.get()
    return found is not None and type(found).__name__ != "NullAllocator"


def _written(record: Record) -> Record:
    """The record with sources and texts instead of live objects, ready for JSON."""
    kernel = record["kernel"]
    name = getattr(kernel, "__name__", "?")
    if record["trouble"]:
        return {"kernel": name, "trouble": record["trouble"]}
    try:
        sources = Sources()
        storages: Dict[int, int] = {}
        kernel_name = sources.function(kernel, record["specialised"])
        arguments, overlap = overlaps.merged(record["arguments"])
        return {
            "kernel": kernel_name,
            "trouble": "",
            "how": record["how"],
            "tuning": record["tuning"],
            "graph": record.get("graph", False),
            "launch": record["launches"][0] if record["launches"] else None,
            "notes": list(record["specialised"].get("notes", ())),
            "grid": record["grid"],
            "arguments": [_as_text(sources, storages, argument) for argument in arguments],
            "overlap": overlap,
            "options": _options(sources, record),
            "allocator": record["allocator"] and record["scratch"] != 0,
            "definitions": sources.definitions,
        }
    except Unliftable as error:
        return {"kernel": name, "trouble": str(error)}
    except Exception:  # our own mistake: said in the run, and no reason to lose it
        return {"kernel": name, "trouble": traceback.format_exc()}


def _options(sources: Sources, record: Record) -> List[Record]:
    options = [_as_text(sources, {}, option) for option in record["options"]]
    if record["how"] != "inductor":
        return options
    return inductor_launches.without_checks(options, "".join(definition["text"] for definition in sources.definitions))


def _as_text(sources: Sources, storages: Dict[int, int], argument: Record) -> Record:
    """The argument with its values in words and its storages numbered from 0."""
    out = dict(argument)
    out.pop("address", None)
    if "value" in out:
        value = out.pop("value")
        if is_jit(value) and out["kind"] == "value":
            out["text"] = sources.function(value)
        else:
            out["text"] = sources.literal(value)
    if "layout" in out:
        out["layout"] = sources.literal(out["layout"])
    if "items" in out:
        out["items"] = [_as_text(sources, storages, item) for item in out["items"]]
    if "named" in out:
        out["named"] = sources.named_tuple(out["named"])
    if "base" in out:
        out["base"] = _as_text(sources, storages, out["base"])
    if "storage" in out:
        out["storage"] = storages.setdefault(out["storage"], len(storages))
    return out


def begin(watch: Any, mode: str = "launch", folder: str = "", *, first: bool = True) -> Capture:
    """A capture at work from now on. `mode`: `launch` by shapes and strides, `values` with contents, too. `folder` is
    where the records go before each launch, also those of child processes; empty: nowhere. `first`: this is the
    script's own process."""
    capture = Capture(watch, mode, blackbox.BlackBox(folder, first=first) if folder else None)
    if mode == "values":
        capture.contents = contents.Contents(contents.beside(folder), lambda tensor: str(watch.describe(tensor)))
        note = capture.contents.note
        NOTES.append(note)
        capture.undo.append(lambda: NOTES.remove(note))
    capture.install()
    return capture

"""Capture: writes down what a launch is made of, so that a script with nothing but that launch can be made of it.

Only while asked for (`Request.capture`). Each launch is described before it runs, by shapes, strides and scalars, and
without its source: that is read once, at the end, for the few launches that may be the one that faults. Nothing reads
device memory, waits for the device, or keeps a tensor alive.
"""

from __future__ import annotations

import functools
import sys
import traceback
from collections import OrderedDict
from typing import Any, Callable, Dict, List, Optional

from .kernelsource import Sources, Unliftable, is_jit

Record = Dict[str, Any]

REMEMBERED = 64
"""Launches described, one of each kind, of which the latest few are written down."""
SUSPECTS = 6
"""Kinds of launches written down where nobody knows which one faulted: the latest first."""


class Capture:
    """The launches of one candidate. `watch` knows which of them ends in a fault, on the virtual GPU."""

    def __init__(self, watch: Any) -> None:
        self.watch = watch
        self.records: "OrderedDict[Any, Record]" = OrderedDict()
        self._undo: Callable[[], None] = lambda: None

    def install(self) -> None:
        """Wrap `JITFunction.run`, the door by which launches go in every Triton since 3.0, autotuned ones too."""
        try:
            from triton.runtime.jit import JITFunction
        except ImportError:
            return
        jit: Any = JITFunction
        original = jit.run

        @functools.wraps(original)
        def run(kernel: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
            if warmup:
                return original(kernel, *args, grid=grid, warmup=warmup, **kwargs)
            return self._launch(original, kernel, args, grid, kwargs)

        jit.run = run
        self._undo = lambda: setattr(jit, "run", original)

    def end(self) -> Record:
        """Take the wrapper off again (a lane may go on with another candidate), and tell what was seen."""
        self._undo()
        return self.found()

    def found(self) -> Record:
        """`launches`: the one that faults where that is known, else the latest, latest first. Each is a record that
        `shrinkray_gpu.lift` makes a script of, or says in `trouble` why it cannot be written down."""
        latest = list(reversed(list(self.records.values())))
        launches = self.watch.launches
        faulty = [r for r in latest if any(launches[i]["fault"] for i in r["launches"] if i < len(launches))]
        known = faulty[-1:] or [record for record in latest[:1] if record["raised"]]
        return {"launches": [_written(record) for record in (known or latest[:SUSPECTS])]}

    def _launch(self, original: Callable[..., Any], kernel: Any, args: Any, grid: Any, kwargs: Record) -> Any:
        record: Record = {"kernel": kernel, "grid": None, "scratch": None, "trouble": ""}
        record.update(launches=[], raised=False)
        try:
            _describe(record, kernel, args, kwargs)
        except Exception as error:  # a launch that we cannot describe must go on all the same
            record["trouble"] = "%s: %s" % (type(error).__name__, error)
        record["allocator"] = _allocator_set()
        sizes = grid
        if callable(grid):

            def sizes(meta: Any) -> Any:
                found = grid(meta)
                record["grid"] = _grid(found)
                return found

        else:
            record["grid"] = _grid(grid)
        before = len(self.watch.launches)
        try:
            compiled = original(kernel, *args, grid=sizes, warmup=False, **kwargs)
        except BaseException as error:
            # A sticky error of an earlier launch surfaces here too, and says nothing of this one.
            record["raised"] = "[CUDA]" not in str(error)
            if record["grid"] is None and callable(grid):
                record["grid"] = _grid_of(grid, kernel, record)
            self._keep(record, before)
            raise
        record["scratch"] = getattr(getattr(compiled, "metadata", None), "global_scratch_size", None)
        self._keep(record, before)
        return compiled

    def _keep(self, record: Record, before: int) -> None:
        """One record of each kind; launches that differ in scalars alone are of one kind, unless one faults."""
        now = range(before, len(self.watch.launches))
        fault = any(self.watch.launches[i]["fault"] for i in now)
        kind = (id(record["kernel"]), repr(record.get("arguments")), repr(record.get("options")), fault)
        if fault and kind in self.records:
            return  # the first one is the one that the host learns of
        record["launches"] = list(now)
        self.records[kind] = record
        self.records.move_to_end(kind)
        if len(self.records) > REMEMBERED:
            self.records.popitem(last=False)


def _describe(record: Record, kernel: Any, args: Any, kwargs: Record) -> None:
    names = list(kernel.arg_names)
    given = {**dict(zip(names, args)), **{k: v for k, v in kwargs.items() if k in names}}
    record["arguments"] = [
        {"name": p.name, "constexpr": bool(p.is_constexpr), **_argument(given[p.name])}
        for p in kernel.params
        if p.name in given
    ]
    record["options"] = [
        {"name": name, **_argument(value)} for name, value in kwargs.items() if name not in names and value is not None
    ]


def _argument(value: Any) -> Record:
    if hasattr(value, "data_ptr") and hasattr(value, "untyped_storage"):
        return {"kind": "tensor", **_tensor(value)}
    base = getattr(value, "base", None)
    if hasattr(base, "data_ptr") and hasattr(value, "block_shape"):
        if getattr(value, "layout", None) is not None:
            return {"kind": "unknown", "text": "a Gluon descriptor"}
        return {
            "kind": "descriptor",
            "base": _tensor(base),
            "shape": _numbers(value.shape),
            "strides": _numbers(value.strides),
            "block_shape": _numbers(value.block_shape),
            "padding": str(getattr(value, "padding", "zero")),
            "round_f32_to_tf32": bool(getattr(value, "round_f32_to_tf32", False)),
        }
    if hasattr(base, "data_ptr") and hasattr(base, "untyped_storage"):  # triton.reinterpret
        return {"kind": "reinterpreted", "base": _tensor(base), "value": value.dtype}
    if type(value) in (tuple, list) and any(hasattr(item, "data_ptr") or isinstance(item, tuple) for item in value):
        return {"kind": "tuple", "items": [_argument(item) for item in value]}
    return {"kind": "value", "value": value}


def _tensor(value: Any) -> Record:
    storage = value.untyped_storage()
    return {
        "dtype": str(value.dtype).rpartition(".")[2],
        "shape": _numbers(value.shape),
        "strides": _numbers(value.stride()),
        "offset": int(value.storage_offset()),
        "storage": storage._cdata if not storage.data_ptr() else storage.data_ptr(),
        "bytes": int(storage.nbytes()),
        # An allocation starts at a multiple of 512 on a GPU, of 64 on the CPU; one made of foreign memory may not.
        "residue": storage.data_ptr() % 16,
        "device": value.device.type,
    }


def _numbers(values: Any) -> List[int]:
    return [int(n) for n in ((values,) if isinstance(values, int) else values)]


def _grid(values: Any) -> Optional[List[int]]:
    """None where it is no grid: then the launch is about to say so."""
    try:
        return _numbers(values)
    except (TypeError, ValueError):
        return None


def _grid_of(grid: Callable[[Any], Any], kernel: Any, record: Record) -> Optional[List[int]]:
    """The grid of a launch that failed before its grid was asked for: its kernel did not compile."""
    meta = {p.name: p.default for p in kernel.params if p.has_default}
    meta.update({a["name"]: a["value"] for a in record.get("arguments", []) if "value" in a})
    try:
        return _numbers(grid(meta))
    except Exception:  # it asks a tensor for its size, which is not kept; compiling does not depend on it
        return [1]


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
        kernel_name = sources.function(kernel)
        return {
            "kernel": kernel_name,
            "trouble": "",
            "grid": record["grid"],
            "arguments": [_as_text(sources, storages, argument) for argument in record["arguments"]],
            "options": [_as_text(sources, storages, option) for option in record["options"]],
            "allocator": record["allocator"] and record["scratch"] != 0,
            "definitions": sources.definitions,
        }
    except Unliftable as error:
        return {"kernel": name, "trouble": str(error)}
    except Exception:  # our own mistake: said in the run, and no reason to lose it
        return {"kernel": name, "trouble": traceback.format_exc()}


def _as_text(sources: Sources, storages: Dict[int, int], argument: Record) -> Record:
    """The argument with its values in words and its storages numbered from 0."""
    out = dict(argument)
    if "value" in out:
        value = out.pop("value")
        if is_jit(value) and out["kind"] == "value":
            out["text"] = sources.function(value)
        else:
            out["text"] = sources.literal(value)
    if "items" in out:
        out["items"] = [_as_text(sources, storages, item) for item in out["items"]]
    if "base" in out:
        out["base"] = _as_text(sources, storages, out["base"])
    if "storage" in out:
        out["storage"] = storages.setdefault(out["storage"], len(storages))
    return out


def begin(watch: Any) -> Capture:
    """A capture at work from now on."""
    capture = Capture(watch)
    capture.install()
    return capture

"""What a launch is made of, described by its live arguments: shapes, strides and scalars, never what a device holds.

`NOTES` lets others write down more of each tensor: a storage's number (`history`), what a tensor holds (`contents`).
"""

from __future__ import annotations

import sys
from typing import Any, Callable, Dict, List, Optional

from ..process.patches import Patches
from .specialisation import is_usual

Record = Dict[str, Any]

NOTES: List[Callable[[Any, Record], None]] = []
"""Asked of each tensor described what else to write down of it."""


def add_note(note: Callable[[Any, Record], None], patches: Patches) -> None:
    """Have each tensor described brought by, until the patches are undone."""
    NOTES.append(note)
    patches.on_undo(lambda: NOTES.remove(note))


def describe_call(record: Record, kernel: Any, args: Any, kwargs: Record) -> None:
    """Fill in the arguments and options of `kernel[grid](*args, **kwargs)`."""
    names = list(kernel.arg_names)
    given = {**dict(zip(names, args)), **{k: v for k, v in kwargs.items() if k in names}}
    describe(record, given, {name: value for name, value in kwargs.items() if name not in names})


def describe(record: Record, given: Record, options: Record) -> None:
    """Fill in a launch's arguments and options, by name."""
    kernel = record["kernel"]
    record["arguments"] = [
        {"name": p.name, "constexpr": bool(p.is_constexpr), **argument(given[p.name])}
        for p in kernel.params
        if p.name in given
    ]
    spoken = {name: value for name, value in options.items() if value is not None and not is_usual(name, value)}
    record["options"] = [{"name": name, **argument(value)} for name, value in spoken.items()]


def argument(value: Any) -> Record:
    """What is known of one argument without a look at the device; `record_text` puts it in words."""
    if hasattr(value, "data_ptr") and hasattr(value, "untyped_storage"):
        return {"kind": "tensor", **tensor(value)}
    if type(value).__name__ == "MockTensor":  # a type that `warmup` was given instead of a tensor
        return pointer(str(value.dtype).rpartition(".")[2], id(value), aligned=True)
    base = getattr(value, "base", None)
    if hasattr(base, "data_ptr") and hasattr(value, "block_shape"):
        layout = getattr(value, "layout", None)  # Gluon's
        if layout is not None and type(value).__name__ != "TensorDescriptor":
            return {"kind": "unknown", "text": "a descriptor of type %s" % type(value).__name__}
        return {
            "kind": "descriptor",
            **({"layout": layout, "module": type(value).__module__} if layout is not None else {}),
            "base": tensor(base),
            "shape": _numbers(value.shape),
            "strides": _numbers(value.strides),
            "block_shape": _numbers(value.block_shape),
            "padding": str(getattr(value, "padding", "zero")),
            "round_f32_to_tf32": bool(getattr(value, "round_f32_to_tf32", False)),
        }
    if hasattr(base, "data_ptr") and hasattr(base, "untyped_storage"):  # triton.reinterpret
        return {"kind": "reinterpreted", "base": tensor(base), "value": value.dtype}
    if isinstance(value, (tuple, list)) and any(hasattr(item, "data_ptr") or isinstance(item, tuple) for item in value):
        named = {"named": type(value)} if hasattr(type(value), "_fields") else {}
        return {"kind": "tuple", "items": [argument(item) for item in value], **named}
    return {"kind": "value", "value": value}


def tensor(value: Any) -> Record:
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
        "device": _device(value.device),
    }
    for note in NOTES:
        note(value, about)
    return about


def _device(device: Any) -> str:
    """How a script names it in which nothing chose another one: `cuda` is the current device, and any other `cuda:1`.
    Where the current one is not the first, these two change places."""
    torch = sys.modules.get("torch")
    if device.type != "cuda" or torch is None or torch.cuda.device_count() < 2:
        return str(device.type)
    current = torch.cuda.current_device()
    return "cuda" if device.index == current else "cuda:%d" % (device.index or current)


def _numbers(values: Any) -> List[int]:
    return [int(n) for n in ((values,) if isinstance(values, int) else values)]


def pointer(dtype: str, number: int, *, aligned: bool) -> Record:
    """A tensor of which only what the compiler sees is known."""
    return {
        "kind": "tensor",
        "dtype": dtype,
        "shape": [1],
        "strides": [1],
        "offset": 0 if aligned else 1,
        "storage": number + 1,
        "bytes": 16,
        "residue": 0,
        "device": "cuda",
    }


def grid(values: Any) -> Optional[List[int]]:
    """None where it is no grid: then the launch is about to say so."""
    try:
        return _numbers(values)
    except (TypeError, ValueError):
        return None


def grid_of(grid: Callable[[Any], Any], kernel: Any, args: Record, kwargs: Record) -> Optional[List[int]]:
    """The grid of a launch whose grid was not asked for yet."""
    meta = {p.name: p.default for p in kernel.params if p.has_default}
    meta.update(args)
    meta.update(kwargs)
    try:
        return _numbers(grid(meta))
    except Exception:  # then compiling fails before it is asked for, and does not depend on it
        return [1]


def allocator_set() -> bool:
    """Whether the script gave Triton an allocator, which device-made descriptors need."""
    module = sys.modules.get("triton.runtime._allocation")
    found: Any = getattr(module, "_allocator", None)
    if hasattr(found, "get"):  # a ContextVar from 3.6 on, the allocator itself before
        found = found.get()
    return found is not None and type(found).__name__ != "NullAllocator"

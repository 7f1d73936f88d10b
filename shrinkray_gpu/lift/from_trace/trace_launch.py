"""From two events of a trace to a launch as `emit` wants it, in the form of captured ones.

What a trace does not hold is guessed, on the side of a launch that runs: floating-point tensors are random and integer
ones zero, unless the trace has their ranges; memory ends where the tensor does.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.lift.from_trace import trace_values as read
from shrinkray_gpu.lift.from_trace.trace_source import Missing, definitions
from shrinkray_gpu.lift.from_trace.trace_values import GRID, LARGEST, odd
from shrinkray_gpu.lift.values import ZEROS, Content, itemsize
from shrinkray_gpu.reduction.comment_above import one_line
from shrinkray_gpu.runner.inside.capture.schema import LaunchRecord

TraceEvent = Mapping[str, Any]

OPTIONS = {
    "num_warps": None,
    "num_stages": None,
    "num_ctas": None,
    "maxnreg": None,
    "debug": False,
    "launch_cooperative_grid": False,
    "launch_pdl": False,
    "enable_fp_fusion": True,
    "enable_reflect_ftz": True,
    "ptx_options": None,
    "waves_per_eu": 0,
    "matrix_instr_nonkdim": 0,
    "kpack": 1,
    "schedule_hint": "none",
}
"""Of the many things in a kernel's metadata, those that a launch can ask for, and what says nothing."""
_STAGES = {"cuda": 3, "hip": 2}
"""The `num_stages` that a backend takes where nobody asks, where we know it; the trace names the backend."""
_JIT = re.compile(r"JITFunction\(.*?([A-Za-z_]\w*)\)$")
_CONSTEXPR = re.compile(r"constexpr\[(.*)\]$", re.DOTALL)


def record(event: TraceEvent, compilations: Sequence[TraceEvent], where: str) -> LaunchRecord:
    """The launch, with all definitions that its kernel needs. `where` names it in messages. Raises UsageError, and Odd
    for a value that no trace has."""
    name = read.text(event.get("name"), "its name")
    where = f"{where}, kernel {one_line(name)}"
    compilation = _compilation(event, compilations)
    source = compilation["python_source"] if compilation else {}
    if not source.get("code"):
        raise UsageError(
            f"{where}: the trace does not hold the kernel's source. Trace from the start of the program "
            "on, so that the compilation is in it"
        )
    given = event.get("extracted_args")
    if not isinstance(given, Mapping) or "_note" in given:
        raise UsageError(
            f"{where}: the trace does not hold its arguments (tritonparse leaves them out while a CUDA "
            "graph is captured, and for kernels of Inductor without TORCHINDUCTOR_RUN_JIT_POST_COMPILE_HOOK=1). Choose "
            "another one with --launch"
        )
    # Inductor's launcher passes no constexprs before Triton 3.3; its config is told beside.
    given = {**read.table(event.get("extracted_inductor_args"), "extracted_inductor_args"), **given}
    functions = [function for value in given.values() if (function := _function(value))]
    others = [c["python_source"] for c in compilations if c is not compilation]
    try:
        kernel, found = definitions(name, source, others, functions)
    except Missing as missing:
        raise UsageError(
            f"{where}, needs what the trace does not hold: {missing}. Trace again with the whole source "
            "files (enable_full_python_source=True in tritonparse's init, or TRITON_FULL_PYTHON_SOURCE=1)"
        ) from None
    told = read.table(event.get("compilation_metadata"), "compilation_metadata")
    metadata = {**(compilation["metadata"] if compilation else {}), **told}
    places = _Places()
    made = {
        "kernel": kernel,
        "trouble": "",
        "grid": read.wholes(grid, "its grid", 3, GRID) if (grid := event.get("grid")) is not None else None,
        "arguments": list(_arguments(kernel, found, given, places)),
        "options": [
            {"name": option, "kind": "value", "text": _option(option, metadata[option])}
            for option, usual in OPTIONS.items()
            if option in metadata
            and metadata[option] != usual
            and not _says_nothing(option, metadata, str(source["code"]))
        ],
        "allocator": bool(metadata.get("global_scratch_size")),
        "definitions": found,
    }
    return cast(LaunchRecord, made)


def _says_nothing(option: str, metadata: Mapping[str, Any], code: str) -> bool:
    """Inductor compiles all kernels with `debug`, for its checks of indices: say so only where there are some."""
    if option == "num_stages":
        return bool(_STAGES.get(str(metadata.get("backend_name"))) == metadata[option])
    return option == "debug" and "@triton_heuristics." in code and "device_assert" not in code


def _option(name: str, value: object) -> str:
    """The source text of a launch option."""
    if value is None or isinstance(value, bool):
        return repr(value)
    if isinstance(value, str):
        return repr(read.text(value, name))
    return repr(read.whole(value, name, most=GRID))


def _compilation(event: TraceEvent, compilations: Sequence[TraceEvent]) -> TraceEvent | None:
    """The event of this launch's kernel; by name where the launch does not say which compilation it is of."""
    hash = read.table(event.get("compilation_metadata"), "compilation_metadata").get("hash")
    key, value = ("hash", hash) if hash else ("name", event.get("name"))
    return next((c for c in compilations if c["metadata"].get(key) == value), None)


def _arguments(
    kernel: str, found: Iterable[Mapping[str, str]], given: Mapping[str, Any], places: _Places
) -> Iterable[dict[str, Any]]:
    """In the order of the kernel's parameters."""
    text = next(d["text"] for d in found if d["name"] == kernel)
    function = ast.parse(text).body[0]
    assert isinstance(function, ast.FunctionDef)
    for parameter in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs):
        if parameter.arg in given:
            annotation = ast.unparse(parameter.annotation) if parameter.annotation else ""
            yield {
                "name": parameter.arg,
                "constexpr": "constexpr" in annotation,
                **_argument(given[parameter.arg], places),
            }


def _argument(value: Any, places: _Places) -> dict[str, Any]:
    kind = value.get("type") if isinstance(value, Mapping) else None
    if kind == "tensor":
        return {"kind": "tensor", **_tensor(value, places)}
    if kind == "TensorDescriptor" and "base" in value:
        return {
            "kind": "descriptor",
            "base": _tensor(read.table(value["base"], "base"), places),
            **{key: read.wholes(value.get(key), key) for key in ("shape", "strides", "block_shape")},
            "padding": _padding(value.get("padding", "zero")),
            "round_f32_to_tf32": False,
        }
    text = _text(value)
    if text is None:
        shown = value.get("repr", value) if isinstance(value, Mapping) else value
        return {"kind": "unknown", "text": one_line(f"{kind or 'something'} that the trace shows as {shown!r}")}
    return {"kind": "value", "text": text}


def _padding(value: object) -> str:
    if value not in ("zero", "nan"):
        raise odd("padding", value, "'zero' or 'nan'")
    return str(value)


def _function(value: Any) -> str:
    """The name of a jit function that is an argument; empty for all else."""
    if not isinstance(value, Mapping) or value.get("type") != "JITFunction":
        return ""
    match = _JIT.search(str(value.get("repr", "")))
    return match[1] if match else ""


def _text(value: Any) -> str | None:
    """The source text of a simple value; None where it cannot be told."""
    if not isinstance(value, Mapping):
        return None
    kind, shown = value.get("type"), str(value.get("repr", ""))
    if kind == "NoneType":
        return "None"
    if kind in ("int", "float", "bool", "str"):
        return read.scalar_text(kind, value.get("value"))
    if kind == "JITFunction":
        return _function(value) or None
    if kind == "constexpr" and (match := _CONSTEXPR.match(shown)):
        return read.literal_text(match[1])
    if kind == "dtype":
        return read.dtype_text(shown)
    return read.literal_text(shown) if kind in ("tuple", "list") else None


class _Places:
    """Tells storages apart by the addresses at which they begin."""

    def __init__(self) -> None:
        self.numbers: dict[int, int] = {}
        self.nowhere = 0

    def number(self, address: int) -> int:
        if not address:  # nothing is known: share with no other
            self.nowhere -= 1
            address = self.nowhere
        return self.numbers.setdefault(address, len(self.numbers))


def _tensor(value: Mapping[str, Any], places: _Places) -> dict[str, Any]:
    dtype = read.dtype(value.get("dtype"), "dtype")
    size = read.whole(value.get("element_size") or itemsize(dtype), "element_size", 1, 64)
    shape = read.wholes(value.get("shape"), "shape")
    strides = read.wholes(value.get("stride") or [math.prod(shape[i + 1 :]) for i in range(len(shape))], "stride")
    if len(strides) != len(shape):
        raise odd("stride", strides, f"as long as the shape, {len(shape)}")
    offset = read.whole(value.get("storage_offset") or 0, "storage_offset")
    at = read.address(value.get("data_ptr"), "data_ptr")
    begin = at - offset * size if at else 0
    extent = 1 + sum((n - 1) * stride for n, stride in zip(shape, strides)) if math.prod(shape) else 0
    read.whole((offset + extent) * size, "the number of its bytes", most=LARGEST)
    return {
        "dtype": dtype,
        "shape": shape,
        "strides": strides,
        "offset": offset,
        "storage": places.number(begin),
        "bytes": (offset + extent) * size,
        "residue": begin % 16,
        "device": read.device(value.get("device", "cuda"), "device"),
        "content": _content(value, dtype),
    }


def _content(value: Mapping[str, Any], dtype: str) -> Content:
    """What the tensor held, by the statistics that a trace may have of it."""
    whole = dtype.startswith(("int", "uint", "bool"))
    low, high, mean, std = (read.finite(value.get(key)) for key in ("min", "max", "mean", "std"))
    if low is None or high is None or mean is None or low > high:
        return ZEROS if whole else {"kind": "normal", "mean": 0.0, "std": 1.0}
    if low == high:
        if low in (0, 1):
            return {"kind": "ones"} if low else ZEROS
        return {"kind": "full", "value": int(low) if whole else float(low)}
    if dtype == "bool":
        return {"kind": "bool", "share": mean}
    if whole:
        return {"kind": "range", "low": int(low), "high": int(high)}
    if not std:
        std = (high - low) / 4
    return {"kind": "normal", "mean": mean, "std": std, "low": low, "high": high}

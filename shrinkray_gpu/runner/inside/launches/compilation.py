"""What is kept of one compilation: the IR stages asked for, the TTIR's identity, plain options, how it failed."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import subprocess
import tempfile
import traceback
from typing import Any, Dict, FrozenSet, Mapping, Optional

from . import cubin

_LOC_LINE = re.compile(r"^#loc.*\n?", re.MULTILINE)
_LOC = re.compile(r' ?\bloc\((?:[^()"]|"[^"]*"|\((?:[^()"]|"[^"]*"|\((?:[^()"]|"[^"]*")*\))*\))*\)')
_VALUE = re.compile(r"%[\w.$-]+")
_CAST = re.compile(r"\btt\.(ptr_to_int|int_to_ptr)\b")
_TEXTS = ("ttir", "ttgir", "llir", "ptx", "amdgcn")


def is_generated(src: Any) -> bool:
    """Whether Inductor wrote the file of a kernel that is compiled."""
    return is_generated_in(getattr(getattr(getattr(src, "fn", None), "fn", None), "__globals__", {}))


def is_generated_in(names: Mapping[str, Any]) -> bool:
    """Whether Inductor wrote the file whose global names these are: one of a kernel, or that which calls them."""
    return "triton_heuristics" in names or "extern_kernels" in names


def without_locations(text: str) -> str:
    """MLIR text without its source locations: the same program at another line reads the same."""
    return _LOC.sub("", _LOC_LINE.sub("", text))


def without_names(text: str) -> str:
    """MLIR text with its values numbered: recent printers name them after the Python variables."""
    numbers: Dict[str, str] = {}
    return _VALUE.sub(lambda found: numbers.setdefault(found.group(), "%%%d" % len(numbers)), text)


def of_kernel(kernel: Any, wants: FrozenSet[str]) -> Dict[str, Any]:
    """What its IR tells, as fields of `run.Compilation`."""
    text = kernel.asm.get("ttir") if hasattr(kernel.asm, "get") else None
    shared = getattr(getattr(kernel, "metadata", None), "shared", 0)
    told = {"ir": texts(kernel, wants), "call": call(kernel, wants), "shared": shared if type(shared) is int else 0}
    if not isinstance(text, str):
        return {"ttir_key": "", "casts": [], **told}
    key = hashlib.sha256(without_names(without_locations(text)).encode()).hexdigest()
    return {"ttir_key": key, "casts": sorted(set(_CAST.findall(text))), **told}


def call(kernel: Any, wants: FrozenSet[str]) -> Dict[str, Any]:
    """How its PTX is launched, as `run.Compilation.call`; empty where that is not wanted, or not told."""
    signature, data = getattr(getattr(kernel, "src", None), "signature", None), getattr(kernel, "metadata", None)
    if "ptx" not in wants or not isinstance(signature, dict) or data is None:
        return {}
    cluster = getattr(data, "cluster_dims", None) or (getattr(data, "num_ctas", 1), 1, 1)
    return {
        "signature": [str(kind) for kind in signature.values()],
        "scratch": int(getattr(data, "global_scratch_size", 0) or 0),
        "warps": int(getattr(data, "num_warps", 4)),
        "cluster": [int(each) for each in cluster],
    }


def texts(kernel: Any, wants: FrozenSet[str]) -> Dict[str, str]:
    """Only the stages asked for; SASS costs a process and is made only then."""
    out = {}
    for name in _TEXTS:
        if name in wants and isinstance(kernel.asm.get(name), str):
            out[name] = kernel.asm[name]
    if "sass" in wants and isinstance(kernel.asm.get("cubin"), bytes):
        out["sass"] = sass(kernel.asm["cubin"])
    if "cubin" in wants and isinstance(kernel.asm.get("cubin"), bytes):
        out["cubin"] = base64.b64encode(kernel.asm["cubin"]).decode("ascii")
    if "figures" in wants and isinstance(kernel.asm.get("cubin"), bytes):
        out["figures"] = json.dumps(cubin.figures(kernel.asm["cubin"], kernel.metadata.name))
    return out


def sass(code: bytes) -> str:
    """Disassembly by the tools that come with Triton; empty when there are none (they may be stripped from a wheel)."""
    import triton

    tools = os.path.join(os.path.dirname(triton.__file__), "backends", "nvidia", "bin")
    with tempfile.NamedTemporaryFile(suffix=".cubin") as f:
        f.write(code)
        f.flush()
        for command in (["nvdisasm", "-c", f.name], ["cuobjdump", "-sass", f.name]):
            try:
                done = subprocess.run([os.path.join(tools, command[0]), *command[1:]], capture_output=True, timeout=60)
            except (OSError, subprocess.SubprocessError):
                continue
            if done.returncode == 0:
                return done.stdout.decode("utf-8", "replace")
    return ""


def options(given: Optional[Mapping[str, Any]]) -> Dict[str, Any]:
    """The options that survive JSON; others (functions, objects) say nothing that can be compared."""
    if given is None:
        return {}
    items = given if isinstance(given, Mapping) else vars(given)
    plain = (str, int, float, bool, type(None))
    out: Dict[str, Any] = {}
    for name, value in sorted(items.items()):
        if isinstance(value, plain):
            out[name] = value
        elif isinstance(value, (tuple, list)) and all(isinstance(v, plain) for v in value):
            out[name] = list(value)
    return out


def qualified_name(kind: type) -> str:
    return kind.__qualname__ if kind.__module__ == "builtins" else kind.__module__ + "." + kind.__qualname__


def failure(error: BaseException) -> Dict[str, Any]:
    """An exception as the fields of `run.Failure`; the line in the script is for whoever knows which file that is."""
    bases = tuple(qualified_name(k) for k in type(error).__mro__[1:] if k is not object)
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    return {"type": qualified_name(type(error)), "text": str(error), "bases": bases, "line": None, "traceback": text}

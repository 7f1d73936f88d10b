"""A torch extension without torch's headers: the same source as a plain shared library, called through ctypes.

Half a minute of a build goes into torch's headers. `headers/` stands in for them: tensors cross as pointers with sizes,
and new ones are made here. What the stand-in does not know does not compile or link, and then torch's own builder does
the work. Numbers and tensors are passed and returned; of anything else (lists, optional values) the caller gets None.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from typing import Any, Dict, List, Optional, Sequence

DIMENSIONS = 8
DTYPES = {
    "uint8": 0, "int8": 1, "int16": 2, "int32": 3, "int64": 4, "float16": 5, "float32": 6, "float64": 7, "bool": 11,
    "bfloat16": 15,
}  # fmt: skip
"""torch's own numbers for its types."""
ROOM = 4096


class Raw(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("key", ctypes.c_int64),
        ("dim", ctypes.c_int64),
        ("dtype", ctypes.c_int64),
        ("cuda", ctypes.c_int64),
        ("sizes", ctypes.c_int64 * DIMENSIONS),
        ("strides", ctypes.c_int64 * DIMENSIONS),
    ]


class Value(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int64), ("whole", ctypes.c_int64), ("number", ctypes.c_double), ("tensor", Raw)]


MAKE = ctypes.CFUNCTYPE(None, ctypes.POINTER(Raw), ctypes.c_double)


def host_flags(folder: str) -> List[str]:
    """What keeps a candidate that reads what it never set from working by luck: such a variable holds the same useless
    value each time. From GCC 12 on; asked once a reduction."""
    known = os.path.join(folder, "host-flags")
    try:
        with open(known, encoding="utf-8") as file:
            return file.read().split()
    except OSError:
        pass
    flag = "-ftrivial-auto-var-init=pattern"
    try:
        done = subprocess.run(
            ["c++", flag, "-E", "-x", "c++", os.devnull], stdin=subprocess.DEVNULL, capture_output=True, timeout=60
        )
        flags = ["-Xcompiler", flag] if done.returncode == 0 else []
    except (OSError, subprocess.SubprocessError):
        flags = []
    os.makedirs(folder, exist_ok=True)
    with open(known + ".new%d" % os.getpid(), "w", encoding="utf-8") as file:
        file.write(" ".join(flags))
    os.replace(file.name, known)
    return flags


class PlainModule:
    """A built library, as the script uses the extension."""

    def __init__(self, path: str, mode: int = ctypes.DEFAULT_MODE) -> None:
        self._library = ctypes.CDLL(path, mode=mode)
        self._tensors: Dict[int, Any] = {}
        self._failed: Optional[BaseException] = None
        self._make = MAKE(self._made)  # as long as the library, which has its address
        self._library.shrink_use(self._make)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *args: self._call(name, args)

    def _call(self, name: str, args: Sequence[Any]) -> Any:
        self._tensors.clear()
        values = (Value * max(1, len(args)))()
        for value, arg in zip(values, args):
            self._pass(value, arg)
        out, error = Value(), ctypes.create_string_buffer(ROOM)
        status = self._library.shrink_call(
            name.encode(), values, ctypes.c_int64(len(args)), ctypes.byref(out), error, ctypes.c_int64(ROOM)
        )
        if self._failed is not None:
            failed, self._failed = self._failed, None
            raise failed
        if status == 2:
            raise AttributeError("the extension has no function %r" % name)
        if status:
            raise RuntimeError(error.value.decode("utf-8", "replace"))
        if out.kind == 3:
            return self._tensors[out.tensor.key]
        return {1: out.whole, 2: out.number}.get(out.kind)

    def _pass(self, value: Value, arg: Any) -> None:
        torch: Any = sys.modules["torch"]
        if isinstance(arg, torch.Tensor):
            value.kind = 3
            self._describe(value.tensor, arg)
        elif isinstance(arg, (bool, int)):
            value.kind, value.whole = 1, int(arg)
        elif isinstance(arg, float):
            value.kind, value.number = 2, arg
        else:
            raise TypeError("incompatible function arguments: %s" % type(arg).__name__)

    def _describe(self, raw: Raw, tensor: Any) -> None:
        if tensor.dim() > DIMENSIONS:
            raise TypeError("the stand-in for torch takes tensors of %d dimensions at most" % DIMENSIONS)
        raw.key = len(self._tensors) + 1
        self._tensors[raw.key] = tensor
        raw.data, raw.dim, raw.cuda = tensor.data_ptr(), tensor.dim(), int(tensor.is_cuda)
        raw.dtype = DTYPES[str(tensor.dtype).rpartition(".")[2]]
        for at, (size, stride) in enumerate(zip(tensor.shape, tensor.stride())):
            raw.sizes[at], raw.strides[at] = size, stride

    def _made(self, pointer: Any, fill: float) -> None:
        """A new tensor, as the source asks for it. What is raised here cannot pass through C++: it is raised after."""
        torch: Any = sys.modules["torch"]
        raw = pointer.contents
        try:
            dtype = getattr(torch, next(name for name, number in DTYPES.items() if number == raw.dtype))
            shape = tuple(raw.sizes[at] for at in range(raw.dim))
            tensor = torch.empty(shape, dtype=dtype, device="cuda" if raw.cuda else "cpu")
            if fill == fill:
                tensor.fill_(fill)
            self._describe(raw, tensor)
        except BaseException as error:
            self._failed = error

"""The host code of an extension, run where no GPU is: whether it gets to its launches, and which these are.

It is compiled as a plain library against headers that stand in for torch's (`light`), and linked to a runtime of our
own (`virtual_runtime.c`), whose memory is the host's and whose launches are written down. The kernels themselves were
compiled before, by `nvcc -cubin`.
"""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
from typing import Any, List, Optional, Sequence

from . import light

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "virtual_runtime.c")
LIBRARY = "shrink_cudart.so"
FLAGS = ("-cudart=none", "-Xcicc", "-O0", "-Xptxas", "-O0")
"""The device's code is not used: the sooner it is made the better."""
_FUNCTION = re.compile(r"\b(cuda[A-Z]\w*)\s*\(")
_RENAMED = re.compile(r"#\s*define\s+cuda[A-Z]\w*\s+(cuda[A-Z]\w*_v\d+)")
_PART = re.compile(r"\d+")
SECONDS = 60


class Launch(ctypes.Structure):
    _fields_ = [
        ("kernel", ctypes.c_char_p),
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint64),
    ]


def runtime(folder: str, nvcc: str) -> Optional[str]:
    """The runtime as a library in this folder; None where it cannot be made. The caller holds the folder's lock."""
    library = os.path.join(folder, LIBRARY)
    if os.path.exists(library):
        return library
    others = os.path.join(folder, "others.c")
    try:
        with open(SOURCE, encoding="utf-8") as file:
            own = set(re.findall(r"\b(cuda[A-Z]\w*)\(", file.read()))
        names = sorted(_functions(os.path.join(os.path.dirname(os.path.dirname(nvcc)), "include")) - own)
        with open(others, "w", encoding="utf-8") as file:
            file.writelines("int %s(void) { return 0; }\n" % name for name in names)
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-O1", "-w", "-o", library + ".new", SOURCE, others],
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=SECONDS,
        )
        os.replace(library + ".new", library)
    except (OSError, subprocess.SubprocessError):
        return None
    return library


def _functions(include: str) -> "set[str]":
    """What the toolkit's header declares; none where it lies elsewhere, and a call of one ends the candidate."""
    try:
        with open(os.path.join(include, "cuda_runtime_api.h"), encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:
        return set()
    lines = [line for line in text.splitlines() if "CUDARTAPI" in line and not line.lstrip().startswith(("*", "//"))]
    return {name for line in lines for name in _FUNCTION.findall(line)} | set(_RENAMED.findall(text))


class Module(light.Module):
    """A built library. `launched` gets the name of each kernel that its functions launch."""

    def __init__(self, path: str, runtime_path: str, launched: List[str], gpu: Any) -> None:
        # DEEPBIND: a CUDA build of torch has put the real runtime's names before all others.
        super().__init__(path, mode=os.RTLD_LOCAL | os.RTLD_LAZY | os.RTLD_DEEPBIND)
        self._runtime = ctypes.CDLL(runtime_path)
        self._runtime.shrink_launch.restype = ctypes.POINTER(Launch)
        self._launched, self._gpu = launched, gpu

    def _call(self, name: str, args: Sequence[Any]) -> Any:
        self._runtime.shrink_forget()
        try:
            return super()._call(name, args)
        finally:
            count = self._runtime.shrink_launches()
            for at in range(count):
                kernel = plain_name(self._runtime.shrink_launch(at).contents.kernel.decode("utf-8", "replace"))
                if kernel not in self._launched:
                    self._launched.append(kernel)
            if count and self._gpu is not None and self._gpu.claims is not None:
                self._gpu.launched = True
                for tensor in self._tensors.values():
                    self._gpu.claims.doubt(tensor)


def plain_name(mangled: str) -> str:
    """`kernel` of `_ZN2fa6kernelIiEEvPf`; of a name that is not mangled the name."""
    at, name = 2, ""
    if not mangled.startswith("_Z"):
        return mangled
    while at < len(mangled) and mangled[at] in "NK":
        at += 1
    while (found := _PART.match(mangled, at)) is not None:
        at = found.end() + int(found.group())
        name = mangled[found.end() : at]
    return name or mangled

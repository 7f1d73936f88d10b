"""The host code of an extension, run where no GPU is: whether it gets to its launches, and which these are.

It is compiled as a `plain_library` against headers that stand in for torch's, and linked to a runtime of our own
(`virtual_runtime.c`), whose memory is the host's and whose launches are written down. The kernels themselves were
compiled before, by `nvcc -cubin`.
"""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
from typing import Any, Dict, List, Optional, Sequence, Tuple

from . import host_calls as words
from . import plain_library

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "virtual_runtime.c")
LIBRARY = "shrink_cudart.so"
FLAGS = ("-cudart=none", "-Xcicc", "-O0", "-Xptxas", "-O0")
"""The device's code is not used: the sooner it is made the better."""
_FUNCTION = re.compile(r"^extern\b[^;{}]*?\b(cuda[A-Z]\w*)\s*\(", re.MULTILINE)
PARAMETERS = 64
MOST = 16
"""Launches written down with their arguments."""
SECONDS = 60


class HostLaunch(ctypes.Structure):
    _fields_ = [
        ("kernel", ctypes.c_char_p),
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint64),
        ("args", ctypes.c_uint64 * PARAMETERS),
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
        names = sorted(_functions(folder, nvcc) - own)
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


def _functions(folder: str, nvcc: str) -> "set[str]":
    """What the toolkit's header declares, asked of nvcc, which knows where it lies. Where that says nothing there are
    none, and a call of one ends the candidate."""
    asking = os.path.join(folder, "functions.cu")
    with open(asking, "w", encoding="utf-8") as file:
        file.write("#include <cuda_runtime_api.h>\n")
    try:
        done = subprocess.run([nvcc, "-E", asking], stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS)
    except (OSError, subprocess.SubprocessError):
        return set()
    return set(_FUNCTION.findall(done.stdout.decode("utf-8", "replace")))


class HostModule(plain_library.PlainModule):
    """A built library. `launched` gets the name of each kernel that its functions launch, `calls` (where that is
    wanted) each launch with its arguments. `sizes`: bytes of each parameter, by the kernel's mangled name."""

    def __init__(
        self,
        path: str,
        runtime_path: str,
        launched: List[str],
        gpu: Any,
        calls: Optional[List[Dict[str, Any]]] = None,
        sizes: Optional[Dict[str, List[int]]] = None,
    ) -> None:
        # DEEPBIND: a CUDA build of torch has put the real runtime's names before all others.
        super().__init__(path, mode=os.RTLD_LOCAL | os.RTLD_LAZY | os.RTLD_DEEPBIND)
        self._runtime = ctypes.CDLL(runtime_path)
        self._runtime.shrink_launch.restype = ctypes.POINTER(HostLaunch)
        self._runtime.shrink_kernel.restype = ctypes.c_char_p
        self._launched, self._gpu, self._calls = launched, gpu, calls
        self._types: Dict[bytes, List[str]] = {}
        self._sizes: Dict[bytes, List[int]] = {}
        for at in range(self._runtime.shrink_kernels() if calls is not None else 0):
            name = self._runtime.shrink_kernel(at)
            self._types[name] = types = parameters(demangle(name))
            told = (sizes or {}).get(name.decode("utf-8", "replace"), [])
            if len(told) != len(types):
                told = [words.POINTER if each.endswith("*") else words.SIZES.get(each, 0) for each in types]
            self._sizes[name] = told
            if len(told) <= PARAMETERS:
                self._runtime.shrink_parameters(at, len(told), (ctypes.c_int * PARAMETERS)(*told))

    def _call(self, name: str, args: Sequence[Any]) -> Any:
        self._runtime.shrink_forget()
        try:
            return super()._call(name, args)
        finally:
            count = self._runtime.shrink_launches()
            for at in range(count):
                launch = self._runtime.shrink_launch(at).contents
                kernel = plain_name(demangle(launch.kernel))
                if kernel not in self._launched:
                    self._launched.append(kernel)
                if self._calls is not None and len(self._calls) < MOST:
                    self._calls.append(self._written(launch))
            if count and self._gpu is not None and self._gpu.claims is not None:
                self._gpu.launched = True
                for tensor in self._tensors.values():
                    self._gpu.claims.doubt(tensor)

    def _written(self, launch: HostLaunch) -> Dict[str, Any]:
        types, sizes = self._types.get(launch.kernel, []), self._sizes.get(launch.kernel, [])
        args = []
        for kind, size, value in zip(types, sizes, launch.args):
            data = ctypes.string_at(value, size) if size > 8 else int(value).to_bytes(8, "little")[:size]
            args.append(words.argument(kind, data, self._tensors.values()))
        return {
            "kernel": demangle(launch.kernel),
            "grid": list(launch.grid),
            "block": list(launch.block),
            "shared": int(launch.shared),
            "args": args,
        }


def demangle(name: bytes) -> str:
    """`fa::kernel<16>(float*)`; the name itself where it is none of C++."""
    ask = ctypes.CDLL("libstdc++.so.6").__cxa_demangle
    ask.restype = ctypes.c_char_p  # some bytes are lost each time: the process is one candidate's
    found = ask(name, None, None, None)
    return (found or name).decode("utf-8", "replace")


def parameters(signature: str) -> List[str]:
    """`["float*", "int"]` of `void fa::kernel<16>(float*, int)`; none where it has no list."""
    inside = split_off(signature)[1]
    found, depth, last = [], 0, 0
    for at, letter in enumerate(inside):
        depth += (letter in "(<[") - (letter in ")>]")
        if letter == "," and depth == 0:
            found.append(inside[last:at].strip())
            last = at + 1
    rest = inside[last:].strip()
    return [*found, rest] if rest and rest != "void" else found


def plain_name(signature: str) -> str:
    """`kernel` of `void fa::kernel<16>(float*)`."""
    return re.sub(r"<.*", "", split_off(signature)[0]).rpartition("::")[2].rpartition(" ")[2]


def split_off(signature: str) -> Tuple[str, str]:
    """What stands before the list of parameters, and what is in it."""
    if not signature.endswith(")"):
        return signature, ""
    depth = 0
    for at in range(len(signature) - 1, -1, -1):
        depth += (signature[at] == ")") - (signature[at] == "(")
        if depth == 0:
            return signature[:at], signature[at + 1 : -1]
    return signature, ""

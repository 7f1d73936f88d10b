"""Launches one kernel by NVIDIA's driver alone: no torch, no Triton, no CUDA toolkit.

    python SCRIPT [KERNEL.ptx | KERNEL.cubin | KERNEL.fatbin]

Exit code 0: the kernel ran, and a checksum of each buffer is printed. 1: the driver reports an error, by its name.
The recipe below is of a launch that was made otherwise: by Triton, or by any program that was recorded.
"""

import ctypes
import hashlib
import struct
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# recipe: begin
FILE = 'softmax_spills.ptx'
KERNEL = 'softmax'
GRID = (1, 1, 1)
BLOCK = (128, 1, 1)
SHARED = 0
# Memory that arguments point into: (bytes, what repeats in it as hex, or a file beside this one).
MEMORY: Sequence[tuple[int, str]] = ()
# One line a parameter: ("buffer", bytes, offset in bytes, type), (type, value), or
# ("bytes", hex, ((where it points, which memory, offset), ...)).
ARGUMENTS: Sequence[tuple[Any, ...]] = (
    ("buffer", 1048576, 0, "f32"),
    ("u32", 0),
    ("u32", 0),
    ("u32", 0),
    ("u32", 0),
    ("u32", 0),
    ("u32", 0),
    ("u32", 0),
    ("u32", 0),
    ("u32", 0),
    ("u32", 0),
    ("u32", 0),
    ("u32", 0),
    ("u32", 0),
    ("u32", 0),
    ("u32", 0),
    ("u32", 0),
    ("u32", 0),
    ("u32", 0),
    ("u32", 0),
    ("u32", 0),
    ("u32", 0),
    ("u32", 0),
    ("u32", 0),
    ("u32", 0),
    ("u32", 0),
    ("u32", 0),
    ("u32", 0),
    ("u32", 0),
    ("u32", 0),
    ("buffer", 1048576, 0, "f32"),
)
# recipe: end

INTEGERS = {
    "i1": "<B",
    "i8": "<b",
    "u8": "<B",
    "i16": "<h",
    "u16": "<H",
    "i32": "<i",
    "u32": "<I",
    "i64": "<q",
    "u64": "<Q",
}
FLOATS = {"f16": "<e", "f32": "<f", "f64": "<d"}
MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
ERROR_LOG, ERROR_LOG_SIZE = 5, 6  # CU_JIT_ERROR_LOG_BUFFER and its size
LOG = 8192


def packed(kind: str, value: Any) -> bytes:
    """A number as the kernel reads it."""
    if kind == "bf16":
        return struct.pack("<f", value)[2:]
    if kind in FLOATS:
        return struct.pack(FLOATS[kind], value)
    return struct.pack(INTEGERS[kind], value)


def contents(kind: str, size: int) -> bytes:
    """What a buffer holds at first: integers are 0, and floats count in eighths, from 0 to 7/8 and again."""
    if kind in INTEGERS or kind == "":
        return bytes(size)
    pattern = b"".join(packed(kind, number / 8) for number in range(8))
    return (pattern * (size // len(pattern) + 1))[:size]


def stored(told: str, size: int) -> bytes:
    """What memory holds: zeros, where nobody has read it."""
    if "." in told:
        return Path(__file__).with_name(told).read_bytes()
    repeats = bytes.fromhex(told) or b"\0"
    return (repeats * (size // len(repeats) + 1))[:size]


class Driver:
    """libcuda, whose errors are raised by name."""

    def __init__(self, library: str) -> None:
        self.library = ctypes.CDLL(library)

    def __call__(self, function: str, *arguments: Any) -> None:
        status = getattr(self.library, function)(*arguments)
        if status:
            name = ctypes.c_char_p()
            self.library.cuGetErrorName(status, ctypes.byref(name))
            said = (name.value or b"an error without a name").decode()
            raise RuntimeError(f"{function}: {said} ({status})")


def load(cuda: Driver, path: Path) -> ctypes.c_void_p:
    """The module in a file of PTX, a cubin or a fatbin."""
    module, log = ctypes.c_void_p(), ctypes.create_string_buffer(LOG)
    names = (ctypes.c_int * 2)(ERROR_LOG, ERROR_LOG_SIZE)
    values = (ctypes.c_void_p * 2)(ctypes.cast(log, ctypes.c_void_p), ctypes.c_void_p(LOG))
    try:
        cuda("cuModuleLoadDataEx", ctypes.byref(module), path.read_bytes() + b"\0", 2, names, values)
    except RuntimeError as error:
        raise RuntimeError(f"{error} {log.value.decode(errors='replace')}") from None
    return module


def main() -> int:
    cuda = Driver("libcuda.so.1")
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name(FILE)
    device, context, function = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
    cuda("cuInit", 0)
    cuda("cuDeviceGet", ctypes.byref(device), 0)
    cuda("cuCtxCreate_v2", ctypes.byref(context), 0, device)
    module = load(cuda, path)
    cuda("cuModuleGetFunction", ctypes.byref(function), module, KERNEL.encode())
    if SHARED > 48 * 1024:
        cuda("cuFuncSetAttribute", function, MAX_DYNAMIC_SHARED, SHARED)

    held: list[Any] = []  # what the pointers below point to
    buffers: list[tuple[str, ctypes.c_uint64, int]] = []

    def buffer(name: str, size: int, data: bytes) -> int:
        place = ctypes.c_uint64()
        cuda("cuMemAlloc_v2", ctypes.byref(place), ctypes.c_size_t(max(size, 1)))
        cuda("cuMemcpyHtoD_v2", place, data, ctypes.c_size_t(size))
        buffers.append((name, place, size))
        return place.value

    memory = [buffer(f"memory {at}", size, stored(told, size)) for at, (size, told) in enumerate(MEMORY)]
    for number, argument in enumerate(ARGUMENTS):
        if argument[0] == "buffer":
            _, size, offset, kind = argument
            data = struct.pack("<Q", buffer(f"parameter {number}", size, contents(kind, size)) + offset)
        elif argument[0] == "bytes":
            data = bytes.fromhex(argument[1])
            for at, which, offset in argument[2]:
                data = data[:at] + struct.pack("<Q", memory[which] + offset) + data[at + 8 :]
        else:
            data = packed(*argument)
        held.append(ctypes.create_string_buffer(data, len(data)))
    parameters = (ctypes.c_void_p * max(len(held), 1))(*(ctypes.addressof(each) for each in held))

    print(f"launching {KERNEL} on grid {GRID} with blocks of {BLOCK}", flush=True)
    cuda("cuLaunchKernel", function, *GRID, *BLOCK, SHARED, None, parameters, None)
    cuda("cuCtxSynchronize")
    for name, place, size in buffers:
        out = ctypes.create_string_buffer(max(size, 1))
        cuda("cuMemcpyDtoH_v2", out, place, ctypes.c_size_t(size))
        print(f"{name}: {size} bytes, sha256 {hashlib.sha256(out.raw[:size]).hexdigest()[:16]}")
    print("no error")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except RuntimeError as problem:
        print(problem)
        sys.exit(1)

"""Products of Triton's 32-bit integers with 64 bits, and whether one of them would have overflowed.

That a run ends well with wide products tells little by itself: an access far beyond its tensor may meet memory that
another one left mapped, in this context and not in the next. So kernels note, at an address that they are compiled
with, when a product does not fit 32 bits. It is host memory that the GPU can write: it outlives a context that died.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any, Callable, Dict

from . import device


class Witness:
    """Four bytes that kernels write to. Without a GPU there are none, and nothing is noted."""

    def __init__(self) -> None:
        self._memory = ctypes.c_void_p()

    @property
    def address(self) -> int:
        return self._memory.value or 0

    def prepare(self) -> bool:
        """Take the memory, if a context is there by now."""
        if not device.current():
            return False
        driver = ctypes.CDLL("libcuda.so.1")
        if driver.cuMemHostAlloc(ctypes.byref(self._memory), ctypes.c_size_t(4), ctypes.c_uint(_MAPPED)):
            self._memory = ctypes.c_void_p()
            return False
        ctypes.memset(self._memory, 0, 4)
        return True

    def end(self) -> bool:
        """Whether a product overflowed. Asked once the device was waited for."""
        if not self.address:
            return False
        overflowed = ctypes.c_int.from_address(self.address).value != 0
        ctypes.CDLL("libcuda.so.1").cuMemFreeHost(self._memory)  # a dead context refuses, and goes with its process
        self._memory = ctypes.c_void_p()
        return overflowed


_MAPPED = 0x02
"""CU_MEMHOSTALLOC_DEVICEMAP. With unified addressing the GPU sees it at the host's address."""


def widened(multiply: Callable[..., Any], witness: Witness) -> Callable[..., Any]:
    """A product of Triton's language, by what builds the kernel as its only keyword."""
    import triton.language as tl

    def wide(value: Any, builds: Dict[str, Any]) -> Any:
        return value.to(tl.int64, **builds) if getattr(value, "dtype", None) == tl.int32 else value

    @functools.wraps(multiply)
    def product(one: Any, other: Any, **builds: Any) -> Any:
        found = multiply(wide(one, builds), wide(other, builds), **builds)
        if witness.address and found.dtype == tl.int64 and _narrow(one) and _narrow(other):
            short = found.to(tl.int32, **builds).to(tl.int64, **builds)
            place = tl.full(found.shape, witness.address, tl.int64, **builds).to(tl.pointer_type(tl.int32), **builds)
            tl.store(place, 1, mask=found.__ne__(short, **builds), **builds)
        return found

    return product


def _narrow(value: Any) -> bool:
    """Whether this operand leaves the product 32 bits and a sign."""
    value = getattr(value, "value", value)
    if isinstance(value, int):
        return -(2**31) <= value < 2**31
    kind = getattr(value, "dtype", None)
    return kind is not None and kind.is_int_signed() and kind.primitive_bitwidth <= 32

"""Products of Triton's 32-bit integers with 64 bits: would one of them have overflowed, and does an access then stay
inside the tensors?

That a run ends well with wide products tells little by itself: an access far beyond its tensor may meet memory that
another one left mapped, in this context and not in the next. So kernels note both, at an address that they are compiled
with. It is host memory that the GPU can read and write: it outlives a context that died.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any, Callable, Dict, Iterator, List, Tuple

from ..process import device

RANGES = 4
"""Stretches of memory that an access is held against; of more, those that lie closest together are one."""
ACCESSES = {"load": 1, "store": 2, "atomic_cas": 3}
ACCESSES.update({"atomic_" + name: 2 for name in ("add", "and", "max", "min", "or", "xchg", "xor")})
"""Of each function of Triton's language, the place of its mask among the arguments; atomic_cas has none."""
_MAPPED = 0x02
"""CU_MEMHOSTALLOC_DEVICEMAP. With unified addressing the GPU sees it at the host's address."""
_NARROW = "_shrink_narrow"
"""The attribute of an integer that has 64 bits only because products are wide."""


class _Notes(ctypes.Structure):
    _fields_ = [("overflowed", ctypes.c_int32), ("outside", ctypes.c_int32), ("ranges", ctypes.c_int64 * (2 * RANGES))]


class Witness:
    """Memory that kernels write to. Without a GPU there is none, and nothing is noted."""

    def __init__(self) -> None:
        self._memory = ctypes.c_void_p()
        self._ranges: List[Tuple[int, int]] = []

    @property
    def address(self) -> int:
        return self._memory.value or 0

    @property
    def _notes(self) -> Any:
        return _Notes.from_address(self.address)

    def prepare(self) -> bool:
        """Take the memory, if a context is there by now."""
        if not device.current():
            return False
        driver, size = ctypes.CDLL("libcuda.so.1"), ctypes.sizeof(_Notes)
        if driver.cuMemHostAlloc(ctypes.byref(self._memory), ctypes.c_size_t(size), ctypes.c_uint(_MAPPED)):
            self._memory = ctypes.c_void_p()
            return False
        ctypes.memset(self._memory, 0, size)
        return True

    def cover(self, arguments: Any) -> None:
        """Tensors that a launch may touch, beside those of the launches before it, which may still be at work."""
        ranges = sorted({*self._ranges, *_memory(arguments)})
        while len(ranges) > RANGES:
            gaps = [after[0] - before[1] for before, after in zip(ranges, ranges[1:])]
            at = gaps.index(min(gaps))
            ranges[at : at + 2] = [(ranges[at][0], max(ranges[at][1], ranges[at + 1][1]))]
        self._ranges = ranges
        if self.address:
            for at, bound in enumerate(bound for each in ranges for bound in each):
                self._notes.ranges[at] = bound

    def end(self) -> Dict[str, int]:
        """`overflowed`: whether a product did, by the 32 bits that it had; `outside`: whether an access left the
        tensors all the same. Empty if nothing was noted. Asked once the device was waited for."""
        if not self.address:
            return {}
        said = {name: int(getattr(self._notes, name) != 0) for name in ("overflowed", "outside")}
        ctypes.CDLL("libcuda.so.1").cuMemFreeHost(self._memory)  # a dead context refuses, and goes with its process
        self._memory = ctypes.c_void_p()
        return said


def _memory(value: Any) -> Iterator[Tuple[int, int]]:
    """The first byte, and that after the last one, of the storage of each tensor in it."""
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, (tuple, list)):
        for each in value:
            yield from _memory(each)
    elif hasattr(value, "untyped_storage"):
        storage = value.untyped_storage()
        yield storage.data_ptr(), storage.data_ptr() + storage.nbytes()
    elif hasattr(value, "data_ptr"):  # whoever made it knows how much memory there is
        yield 0, 2**63 - 1


def patches(language: Any, witness: Witness) -> Iterator[Tuple[Any, str, Any]]:
    """What to set in Triton's language, module or class: the owner, the name and the new value."""
    tensor: Any = language.tensor
    for name in ("__mul__", "__rmul__"):
        yield tensor, name, widen(getattr(tensor, name), witness)
    for name in ("__add__", "__radd__", "__sub__", "__rsub__", "__getitem__"):
        yield tensor, name, _marking(getattr(tensor, name))
    yield tensor, "to", _plain(tensor.to)
    for name, place in ACCESSES.items():
        if hasattr(language, name):
            yield language, name, _held_inside(getattr(language, name), place, witness)


def widen(multiply: Callable[..., Any], witness: Witness) -> Callable[..., Any]:
    """A product of Triton's language, by what builds the kernel as its only keyword."""
    import triton.language as tl

    def wide(value: Any, builds: Dict[str, Any]) -> Any:
        return value.to(tl.int64, **builds) if getattr(value, "dtype", None) == tl.int32 else value

    @functools.wraps(multiply)
    def product(one: Any, other: Any, **builds: Any) -> Any:
        found = multiply(wide(one, builds), wide(other, builds), **builds)
        if found.dtype == tl.int64 and _narrow(one) and _narrow(other):
            setattr(found, _NARROW, True)
            if witness.address:
                short = found.to(tl.int32, **builds).to(tl.int64, **builds)
                _note(witness.address + _Notes.overflowed.offset, found.__ne__(short, **builds), builds)
        return found

    return product


def _marking(original: Callable[..., Any]) -> Callable[..., Any]:
    """A sum, or a part, of what has 64 bits only because products are wide, is such a number itself."""
    import triton.language as tl

    @functools.wraps(original)
    def marked(one: Any, other: Any, **builds: Any) -> Any:
        found = original(one, other, **builds)
        # Of `one[...]`, `other` says which part.
        if found.dtype == tl.int64 and _narrow(one) and (original.__name__ == "__getitem__" or _narrow(other)):
            setattr(found, _NARROW, True)
        return found

    return marked


def _plain(to: Callable[..., Any]) -> Callable[..., Any]:
    """Who asks for 64 bits means them."""

    @functools.wraps(to)
    def plain(value: Any, *args: Any, **kwargs: Any) -> Any:
        found = to(value, *args, **kwargs)
        return type(found)(found.handle, found.type) if getattr(found, _NARROW, False) else found

    return plain


def _held_inside(access: Callable[..., Any], place: int, witness: Witness) -> Callable[..., Any]:
    """An access that notes whether it leaves all tensors. Block pointers and descriptors are clipped by themselves."""
    import triton.language as tl

    @functools.wraps(access)
    def held(pointer: Any, *args: Any, **kwargs: Any) -> Any:
        builds = {name: kwargs[name] for name in ("_semantic", "_builder") if kwargs.get(name) is not None}
        mask = kwargs.get("mask", args[place - 1] if len(args) >= place else None)
        if not isinstance(mask, tl.tensor):
            mask = getattr(mask, "value", mask)
        shut = not isinstance(mask, tl.tensor) and mask is not None and not mask
        if witness.address and builds and not shut and _points(pointer):
            outside = _outside(pointer.to(tl.int64, **builds), witness, builds)
            if isinstance(mask, tl.tensor):
                outside = outside.__and__(mask.to(tl.int1, **builds), **builds)
            _note(witness.address + _Notes.outside.offset, outside, builds)
        return access(pointer, *args, **kwargs)

    return held


def _points(value: Any) -> bool:
    """Whether it is a pointer, or a block of pointers; a pointer to a block is another thing."""
    kind = getattr(value, "type", None)
    if kind is None or not hasattr(value, "dtype") or not value.dtype.is_ptr():
        return False
    return not (kind.is_ptr() and kind.element_ty.is_block())


def _outside(at: Any, witness: Witness, builds: Dict[str, Any]) -> Any:
    """Whether an address is in none of the stretches, as they are when the kernel runs."""
    import triton.language as tl
    from triton.language import core  # its `load` is nobody's patch

    def bound(place: int) -> Any:
        where = witness.address + _Notes.ranges.offset + 8 * place
        pointer = tl.full((), where, tl.int64, **builds).to(tl.pointer_type(tl.int64), **builds)
        return core.load(pointer, **builds)

    found = None
    for each in range(RANGES):
        beyond = at.__lt__(bound(2 * each), **builds).__or__(at.__ge__(bound(2 * each + 1), **builds), **builds)
        found = beyond if found is None else found.__and__(beyond, **builds)
    return found


def _note(where: int, happened: Any, builds: Dict[str, Any]) -> None:
    import triton.language as tl
    from triton.language import core

    place = tl.full(happened.shape, where, tl.int64, **builds).to(tl.pointer_type(tl.int32), **builds)
    core.store(place, 1, mask=happened, **builds)


def _narrow(value: Any) -> bool:
    """Whether this operand leaves a result 32 bits and a sign, were products not wide."""
    value = getattr(value, "value", value)
    if isinstance(value, int):
        return -(2**31) <= value < 2**31
    kind = getattr(value, "dtype", None)
    if kind is None or getattr(value, _NARROW, False):
        return kind is not None
    return kind.is_int_signed() and kind.primitive_bitwidth <= 32

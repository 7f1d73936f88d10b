"""The memory that a launch is given: whose it is, how large, and what it holds where that is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional, Tuple

import torch

from .numbers import Unfollowed, wrapped

INTEGERS = {
    "i1": torch.bool,
    "i8": torch.int8,
    "i16": torch.int16,
    "i32": torch.int32,
    "i64": torch.int64,
}


@dataclass(frozen=True)
class Buffer:
    """A pointer argument: the storage of a tensor, as far as is known.

    `parameter`: its index among the kernel's parameters. `at`: bytes from the start of the storage to where it points.
    `size`: of the storage, in bytes. `shape`, `strides`: of the tensor, in elements of `width` bytes. `tensor`: to read
    from; None where nobody knows what is there, which `unread` explains. `written`: whether each element was written
    before, all, none, or (None) nobody knows which. `storage`: the same for views of one storage.
    """

    parameter: int
    at: int
    size: int
    shape: Tuple[int, ...] = ()
    strides: Tuple[int, ...] = ()
    width: int = 1
    tensor: Any = None
    unread: str = "what is in memory is not known"
    written: Optional[bool] = True
    storage: int = 0

    @property
    def null(self) -> bool:
        return self.size == 0  # torch gives an empty storage no address

    def integers(self, kind: str) -> Any:
        """The whole storage as integers of this type, or Unfollowed."""
        dtype = INTEGERS.get(kind)
        if dtype is None:
            return Unfollowed("a load of %s decides" % kind)
        if self.tensor is None:
            return Unfollowed(self.unread)
        storage = self.tensor.untyped_storage()
        width = torch.empty(0, dtype=dtype).element_size()
        flat = torch.empty(0, dtype=dtype)
        return flat.set_(storage, 0, (storage.nbytes() // width,), (1,))


@dataclass(frozen=True)
class Described:
    """A tensor descriptor: what it describes, in elements of `width` bytes. `start`: where that begins, in bytes from
    the start of the storage; None: where the buffer points."""

    buffer: Optional[Buffer]
    shape: Tuple[Any, ...]
    strides: Tuple[Any, ...]
    width: Optional[int]
    start: Any = None

    @property
    def is_inside(self) -> Optional[bool]:
        """Whether all that it describes is in the storage; None where that is not known."""
        if self.buffer is None or self.buffer.null:
            return None if self.buffer is None else False
        start = self.buffer.at if self.start is None else wrapped(self.start)
        shape, strides = ([wrapped(value) for value in part] for part in (self.shape, self.strides))
        if self.width is None or any(not isinstance(value, int) for value in (start, *shape, *strides)):
            return None
        last = start + (sum((n - 1) * s for n, s in zip(shape, strides)) + 1) * self.width
        return any(n <= 0 for n in shape) or start >= 0 and last <= self.buffer.size


class Address:
    """Pointers into one buffer: bytes from the start of its storage, a number, a Pair or Unfollowed."""

    __slots__ = ("buffer", "offset")

    def __init__(self, buffer: Buffer, offset: Any) -> None:
        self.buffer = buffer
        self.offset = offset


class BlockPointer:
    """A `tt.make_tensor_ptr`: an address, extents, strides and offsets in elements, the block's own extents."""

    __slots__ = ("base", "shape", "strides", "offsets", "block")

    def __init__(self, base: Any, shape: Any, strides: Any, offsets: Any, block: Tuple[int, ...]) -> None:
        self.base = base
        self.shape = shape
        self.strides = strides
        self.offsets = offsets
        self.block = block

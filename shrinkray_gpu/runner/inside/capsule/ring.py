"""The ring: what the latest launches were made of, without contents, without waiting, and without keeping a tensor.

An entry is made before its launch, in time that the program pays: so it is a plain list, and a tensor in it a plain
tuple. `writing` turns entries into records, once, after an error.
"""

from __future__ import annotations

import copy
import enum
from collections import deque
from typing import Any, Callable, Deque, Dict, List, Tuple

LATEST = 512
"""Launches kept; beside them the last one of each kernel."""

Entry = List[Any]
"""See the indices below."""
KERNEL, GRID, ARGS, KWARGS, NUMBER, TROUBLE = range(6)

Seen = Callable[[Entry, BaseException], None]


class TensorFacts:
    """A tensor by what is known of it, in the words of a tensor's own interface: that is what `capture.description`
    reads."""

    __slots__ = ("dtype", "shape", "device", "_strides", "_offset", "_address")

    def __init__(self, fields: Tuple[Any, ...]) -> None:
        self.dtype, self.shape, strides, self._offset, self._address, device = fields
        self._strides = _contiguous(self.shape) if strides is True else tuple(strides)
        self.device = _Device("cuda" if device is True else str(device).partition(":")[0])

    def stride(self) -> Tuple[int, ...]:
        return self._strides

    def storage_offset(self) -> int:
        return int(self._offset)

    def untyped_storage(self) -> "TensorFacts":
        return self

    def data_ptr(self) -> int:
        """Of its storage: `description` asks for no other."""
        return int(self._address) - int(self._offset) * self._size()

    @property
    def _cdata(self) -> int:
        return id(self)

    def nbytes(self) -> int:
        """Memory ends where the tensor does: asking for more would cost as much as all the rest."""
        spanned = 0
        if all(self.shape):
            spanned = 1 + sum((size - 1) * stride for size, stride in zip(self.shape, self._strides))
        return (int(self._offset) + spanned) * self._size()

    def _size(self) -> int:
        return int(self.dtype.itemsize)


class _Device:
    def __init__(self, name: str) -> None:
        self.type = name


class Unkept:
    """In the place of an argument that could keep memory alive, or change."""

    def __init__(self, value: Any) -> None:
        self.kind = "%s.%s" % (type(value).__module__, type(value).__qualname__)


class _HeldTensor(tuple):  # type: ignore[type-arg]
    """The fields of `TensorFacts`."""


class Ring:
    """The latest launches of one process."""

    def __init__(self) -> None:
        self.latest: Deque[Entry] = deque(maxlen=LATEST)
        self.last: Dict[int, Entry] = {}
        """By the kernel's id; the entry keeps the kernel."""
        self.count = 0

    def entries(self) -> List[Entry]:
        """All that are known, the latest first."""
        every = {entry[NUMBER]: entry for entry in (*self.last.values(), *self.latest)}
        return [every[number] for number in sorted(every, reverse=True)]

    def watch(self, original: Callable[..., Any], failed: Seen) -> Callable[..., Any]:
        """`JITFunction.run`, the door by which launches go in every Triton since 3.0. `failed` is told of what it
        raises."""
        latest, last, kept, plain = self.latest, self.last, _kept, _PLAIN

        def run(kernel: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
            if warmup:
                return original(kernel, *args, grid=grid, warmup=warmup, **kwargs)
            self.count = number = self.count + 1
            entry: Entry = [kernel, grid, None, None, number, ""]
            try:
                entry[ARGS] = [value if type(value) in plain else kept(value) for value in args]
                entry[KWARGS] = {n: value if type(value) in plain else kept(value) for n, value in kwargs.items()}
            except Exception as error:  # a tensor of a kind that has no memory, or none yet
                entry[TROUBLE] = "%s: %s" % (type(error).__name__, error)
            if callable(grid):
                entry[GRID] = None
                grid = _noting(entry, grid)
            latest.append(entry)
            last[id(kernel)] = entry
            try:
                return original(kernel, *args, grid=grid, warmup=False, **kwargs)
            except BaseException as error:
                failed(entry, error)
                raise

        return run


def _noting(entry: Entry, grid: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def sizes(meta: Any) -> Any:
        found = entry[GRID] = grid(meta)
        return found

    return sizes


_PLAIN = frozenset({int, float, bool, str, type(None)})


def _kept(value: Any) -> Any:
    """What may be kept of an argument."""
    try:
        return _HeldTensor(
            (
                value.dtype,
                value.shape,
                value.is_contiguous() or value.stride(),
                value.storage_offset(),
                value.data_ptr(),
                value.is_cuda or value.device,
            )
        )
    except AttributeError:  # no tensor
        return _other(value)


def _other(value: Any) -> Any:
    base = getattr(value, "base", None)
    if hasattr(base, "data_ptr"):  # a descriptor, or `triton.reinterpret`
        made = copy.copy(value)
        for name, inner in list(vars(made).items()):
            if hasattr(inner, "data_ptr"):
                object.__setattr__(made, name, TensorFacts(_kept(inner)))
        return made
    if isinstance(value, (tuple, list)) and type(value) in (tuple, list):
        return type(value)(item if type(item) in _PLAIN else _kept(item) for item in value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(item if type(item) in _PLAIN else _kept(item) for item in value))
    home = str(type(value).__module__)
    if isinstance(value, (enum.Enum, type)) or home.startswith("triton.") or type(value).__name__ in ("dtype", "function"):
        return value
    return Unkept(value)


def facts(value: Any) -> Any:
    """What was kept, with tensors that answer for themselves. Raises TypeError for what was not kept."""
    if isinstance(value, _HeldTensor):
        return TensorFacts(value)
    if isinstance(value, Unkept):
        raise TypeError("an argument of type %s is not kept" % value.kind)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(facts, value))
    if type(value) in (tuple, list):
        return type(value)(map(facts, value))
    return value


def _contiguous(shape: Any) -> Tuple[int, ...]:
    strides: List[int] = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(int(size), 1)
    return tuple(reversed(strides))

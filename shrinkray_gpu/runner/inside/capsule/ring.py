"""The ring: what the latest launches were made of, without contents, without waiting, and without keeping a tensor.

An entry is made before its launch, in time that the program pays: so it is a plain list, and a tensor in it a plain
tuple. `writing` turns entries into records, once, after an error.
"""

from __future__ import annotations

import copy
import enum
import itertools
from collections import deque
from typing import Any, Callable, Deque, Dict, Iterable, List, Set, Tuple

LATEST = 512
"""Launches kept; beside them the last one of each kernel."""

Entry = List[Any]
"""See the indices below. Of a launch of Inductor, the kernel is its autotuner, and the grid is the launcher, if one of
several was given; the keywords are kept as they are, since no tensor is among them."""
KERNEL, GRID, ARGS, KWARGS, NUMBER, TROUBLE = range(6)

Seen = Callable[[Entry, BaseException], None]


class TensorFacts:
    """A tensor by what is known of it, in the words of a tensor's own interface: that is what `capture.description`
    reads. Its storage begins and ends where it does; what overlaps is put together by addresses later."""

    __slots__ = ("dtype", "shape", "device", "_strides", "_address")

    def __init__(self, dtype: Any, shape: Any, strides: Tuple[int, ...], address: int) -> None:
        self.dtype, self.shape, self.device = dtype, shape, _Cuda
        self._strides, self._address = strides, address

    def stride(self) -> Tuple[int, ...]:
        return self._strides

    def storage_offset(self) -> int:
        return 0

    def untyped_storage(self) -> "TensorFacts":
        return self

    def data_ptr(self) -> int:
        return self._address

    @property
    def _cdata(self) -> int:
        return id(self)

    def nbytes(self) -> int:
        if not all(self.shape):
            return 0
        spanned = 1 + sum((size - 1) * stride for size, stride in zip(self.shape, self._strides))
        return int(spanned * self.dtype.itemsize)


class _Cuda:
    """The device of every tensor: what lies on the host is no kernel's argument, but for pinned memory."""

    type = "cuda"


class Unkept:
    """In the place of an argument that could keep memory alive, or change."""

    def __init__(self, value: Any) -> None:
        self.kind = "%s.%s" % (type(value).__module__, type(value).__qualname__)


class _Several:
    """In the place of a tuple or a list: a plain tuple in an entry is a tensor."""

    def __init__(self, kind: Any, items: List[Any]) -> None:
        self.kind, self.items = kind, items


class LaunchRing:
    """The latest launches of one process."""

    def __init__(self) -> None:
        self.latest: Deque[Entry] = deque(maxlen=LATEST)
        self.last: Dict[int, Entry] = {}
        """By the kernel's id; the entry keeps the kernel."""
        self._numbers = itertools.count(1)

    @property
    def count(self) -> int:
        """How many launches there were."""
        return max((entry[NUMBER] for entry in self.last.values()), default=0)

    def entries(self) -> List[Entry]:
        """All that are known, the latest first."""
        every = {entry[NUMBER]: entry for entry in (*self.last.values(), *self.latest)}
        return [every[number] for number in sorted(every, reverse=True)]

    def watch(self, original: Callable[..., Any], failed: Seen) -> Callable[..., Any]:
        """`JITFunction.run`, the door by which launches go in every Triton since 3.0. `failed` is told of what it
        raises."""
        latest, last, plain, numbers = self.latest, self.last, _PLAIN, self._numbers

        def run(kernel: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
            if warmup:
                return original(kernel, *args, grid=grid, warmup=warmup, **kwargs)
            entry: Entry = [kernel, grid, None, kwargs, next(numbers), ""]
            try:
                entry[ARGS] = _all_kept(args)
                for value in kwargs.values():
                    if type(value) not in plain:
                        entry[KWARGS] = dict(zip(kwargs, _all_kept(kwargs.values())))
                        break
            except Exception as error:  # a tensor of a kind that has no memory, or none yet
                entry[ARGS] = entry[KWARGS] = None
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

    def watch_inductor(self, original: Callable[..., Any], failed: Seen) -> Callable[..., Any]:
        """`CachingAutotuner.run`, the door of torch.compile. Older torch passes a function for the grid by name."""

        def run(tuner: Any, *args: Any, **kwargs: Any) -> Any:
            entry = self._note(tuner, None, args, kwargs)
            try:
                return original(tuner, *args, **kwargs)
            except BaseException as error:
                failed(entry, error)
                raise

        return run

    def watch_trials(self, original: Callable[..., Any], failed: Seen) -> Callable[..., Any]:
        """`CachingAutotuner.bench`, which launches one of several configurations by its `launcher`."""

        def bench(tuner: Any, launcher: Any, *args: Any, **kwargs: Any) -> Any:
            entry = self._note(tuner, launcher, args, kwargs)
            try:
                return original(tuner, launcher, *args, **kwargs)
            except BaseException as error:
                failed(entry, error)
                raise

        return bench

    def _note(self, tuner: Any, launcher: Any, args: Any, kwargs: Dict[str, Any]) -> Entry:
        entry: Entry = [tuner, launcher, None, kwargs, next(self._numbers), ""]
        try:
            entry[ARGS] = _all_kept(args)
        except Exception as error:
            entry[TROUBLE] = "%s: %s" % (type(error).__name__, error)
        self.latest.append(entry)
        self.last[id(tuner)] = entry
        return entry


def _noting(entry: Entry, grid: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def sizes(meta: Any) -> Any:
        found = entry[GRID] = grid(meta)
        return found

    return sizes


_PLAIN = frozenset({int, float, bool, str, type(None)})


_TENSORS: Set[type] = set()
"""Types of the tensors seen so far: of these, `_all_kept` asks at once."""


def _all_kept(values: Iterable[Any]) -> List[Any]:
    """What may be kept of the arguments of a launch. Written for speed: it runs before every launch."""
    found: List[Any] = []
    for value in values:
        kind = type(value)
        if kind in _TENSORS:
            found.append((value.dtype, value.shape, value.stride(), value.data_ptr()))
        elif kind in _PLAIN:
            found.append(value)
        else:
            found.append(_kept(value))
    return found


def _kept(value: Any) -> Any:
    """What may be kept of an argument: of a tensor, the arguments of `TensorFacts`."""
    if not hasattr(value, "untyped_storage"):  # `triton.reinterpret` has all else
        return _other(value)
    try:
        about = (value.dtype, value.shape, value.stride(), value.data_ptr())
    except AttributeError:
        return _other(value)
    if hasattr(type(value), "untyped_storage"):
        _TENSORS.add(type(value))
    return about


def _other(value: Any) -> Any:
    """Of an argument that is no tensor."""
    base = getattr(value, "base", None)
    if hasattr(base, "data_ptr"):  # a descriptor, or `triton.reinterpret`
        made = copy.copy(value)
        for name, inner in list(vars(made).items()):
            if hasattr(inner, "data_ptr"):
                object.__setattr__(made, name, TensorFacts(*_kept(inner)))
        return made
    if isinstance(value, (tuple, list)):
        return _Several(type(value), [item if type(item) in _PLAIN else _kept(item) for item in value])
    known = str(type(value).__module__).startswith("triton.") or type(value).__name__ in ("dtype", "function")
    if known or isinstance(value, (enum.Enum, type)):
        return value
    return Unkept(value)


def facts(value: Any) -> Any:
    """What was kept, with tensors that answer for themselves. Raises TypeError for what was not kept."""
    if type(value) is tuple:
        return TensorFacts(*value)
    if isinstance(value, Unkept):
        raise TypeError("an argument of type %s is not kept" % value.kind)
    if isinstance(value, _Several):
        items = [facts(item) for item in value.items]
        return value.kind(*items) if hasattr(value.kind, "_fields") else value.kind(items)
    return value

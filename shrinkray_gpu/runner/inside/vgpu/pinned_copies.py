"""Copies from pinned memory that the host did not wait for: the device reads their source when its stream comes to it.

What the host writes to the source before it has waited, the copy may take instead. So the launches that read what was
copied are judged with the later contents as well: those in the queue when the host writes, and those that follow. All
that the host waits for ends it. Streams count as one here: waiting for any of them does.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field, replace
from typing import Any, Callable, Dict, FrozenSet, Iterable, List, Optional, Sequence, Set, Tuple

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from ..evaluator.memory import Buffer, Described
from ..launches.launch_log import Record, host_line
from .claims import Claims, address
from .gpu import Gpu

MOST = 64
"""Of the last things that the device has to do."""
BYTES = 1 << 20
"""Of the largest storage that is looked at with later contents, or kept as it was at a launch."""
LAUNCHES, COPIES, CONTENTS = 64, 32, 4
"""The last launches in the queue whose tensors are kept as they were; the last copies whose source is looked at, and
how many later contents of each."""
AT_ONCE = "no kernel is compiled before the host writes"
"""In `Cause.busy`: that takes longer than most of what a device may be busy with."""
NOT_KEPT = "what the tensor held at the launch was not kept"
NOT_LOOKED_AT = "the host overwrote the pinned memory that it was copied from before it had waited for the copy"
DERIVED = "it was made from pinned memory that the host overwrote before it had waited for the copy"

_View = Tuple[int, Tuple[int, ...], Any]
"""Offset, strides and type of a tensor in its storage."""


@dataclass(frozen=True)
class Busy:
    """What a GPU was given to do since the host last waited for it: as long as that takes, the host may overwrite what
    is copied. How long it takes nobody knows without a GPU. So a candidate is asked for the very same: kernels by their
    IR, grids and numbers, and what torch computes that takes long."""

    gpu: Gpu
    launches: Tuple[Record, ...]
    worked: Tuple[str, ...]

    @classmethod
    def now(cls, gpu: Gpu) -> "Busy":
        return cls(gpu, tuple(gpu.watch.queued(MOST)), tuple(gpu.worked[-MOST:]))

    @property
    def words(self) -> Tuple[str, ...]:
        """One for each of these things."""
        return tuple(sorted((*map(self._word, self.launches), *self.worked)))

    def _word(self, launch: Record) -> str:
        numbers = [each for each in launch["args"] if "[" not in each]
        return "%s %s %s" % (self.gpu.watch.ttir_key(launch["hash"])[:16], launch["grid"], numbers)


@dataclass(frozen=True, eq=False)
class Later:
    """What a copy may take instead. `storage`: all that its target's then holds; None where nobody knows. `by`: the
    host's line that wrote it, or by which way it did. `busy`: as in `Cause`."""

    storage: Any
    by: str
    busy: Tuple[str, ...]


@dataclass(eq=False)
class _Copy:
    """`number`: how many were made before. `source`: a weak reference to the storage. `held`: what the target's storage
    holds once the copy is done; None where that is too large, or nobody knows. `busy`: what the device had to do then.
    `compiled`: how many kernels had been."""

    number: int
    source: Any
    shape: Tuple[int, ...]
    taken: _View
    given: _View
    held: Any
    busy: Busy
    compiled: int
    later: List[Later] = field(default_factory=list)

    def lose_sight(self) -> None:
        """From here on nobody looks at what is written to the source."""
        self.held = None

    def anew(self, storage: Any, by: Callable[[], str], compiled: int) -> Optional[Later]:
        """What it may take now that its source's storage was written to; None where that is nothing else."""
        if any(each.storage is None for each in self.later):
            return None
        found, (offset, _, dtype) = None, self.taken
        size = math.prod(self.shape) * dtype.itemsize
        if self.held is not None and storage.nbytes() >= offset * dtype.itemsize + size:
            found = self.held.clone()
            _view(found, self.shape, self.given).copy_(_view(storage, self.shape, self.taken))
            known = (self.held, *(each.storage for each in self.later))
            if any(torch.equal(as_bytes(each), as_bytes(found)) for each in known):
                return None
        if len(self.later) == CONTENTS:
            found = None
        at_once = (AT_ONCE,) if compiled == self.compiled else ()
        self.later.append(Later(found, by(), (*(self.busy.words or ("a copy of %d bytes" % size,)), *at_once)))
        return self.later[-1]


@dataclass(frozen=True, eq=False)
class _CopiedContent:
    """What a storage holds while copies are in the queue: what they take, or what is made of that (`derived`)."""

    copies: FrozenSet[_Copy]
    derived: bool
    storage: Any
    """A weak reference, so that no other one gets its address."""


Judge = Callable[[Tuple[Any, ...], Later], bool]
"""Is given a launch's values with the later contents in their place; returns whether it faults."""


@dataclass(frozen=True, eq=False)
class _Launch:
    key: Any
    values: Tuple[Any, ...]
    held: Dict[int, _CopiedContent]
    """By the address of their storage."""
    judge: Judge

    def faults(self, copy: _Copy, later: Later) -> bool:
        return self.judge(tuple(_with(value, self.held, copy, later) for value in self.values), later)


def _quietly(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        with torch.no_grad(), torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch():
            return method(*args, **kwargs)

    return call


class PinnedCopies:
    """Those in the queue of one virtual GPU; true while there are any."""

    def __init__(self, gpu: Gpu) -> None:
        self.made = 0
        self._gpu = gpu
        self._claims: Claims = gpu.claims
        self._queue: List[_Copy] = []
        self._holds: Dict[int, _CopiedContent] = {}
        self._launches: List[_Launch] = []
        self._arrays: Set[int] = set()
        """Storages that NumPy has, too."""

    def __bool__(self) -> bool:
        return bool(self._queue)

    @_quietly
    def copied(self, source: Any, target: Any) -> None:
        """A copy to the device was made that the host does not wait for."""
        self._look()
        if not self._claims.pinned(source) or not target.numel():
            return
        taken = source.expand_as(target)
        if not taken.is_contiguous():  # torch copies from a tensor of its own then, which is not pinned
            return
        storage = target.untyped_storage()
        known = storage.nbytes() <= BYTES and not (self._claims.unknown(target) or self._claims.unknown(source))
        copy = _Copy(
            self.made,
            StorageWeakRef(source.untyped_storage()),
            tuple(target.shape),
            (taken.storage_offset(), taken.stride(), taken.dtype),
            (target.storage_offset(), target.stride(), target.dtype),
            storage.clone() if known else None,
            Busy.now(self._gpu),
            len(self._gpu.watch.compiles),
        )
        self.made += 1
        self._queue = [each for each in self._queue if not each.source.expired()] + [copy]
        for each in self._queue[-COPIES - 1 : -COPIES]:
            each.lose_sight()
        self._forget()
        whole = target.numel() * target.element_size() == storage.nbytes()
        before = self._holds.get(address(target)) if not whole else None
        copies = frozenset([copy]).union(before.copies if before is not None else ())
        self._holds[address(target)] = _CopiedContent(copies, before is not None, StorageWeakRef(storage))

    @_quietly
    def computed(self, inputs: Sequence[Any], written: Sequence[Any], filled: bool, results: Sequence[Any]) -> None:
        """An operation of torch was done. `filled`: it left nothing of what it wrote to."""
        by_host = all(self._claims.device(tensor) == "cpu" for tensor in inputs)
        for tensor in written if by_host else ():
            self._overwritten(self._queue, tensor.untyped_storage(), host_line)
        for copy in self._queue if not by_host else ():
            if any(copy.source.cdata == address(tensor) for tensor in written):
                copy.lose_sight()  # that is in its turn, and cannot be told from what the host writes
        places = {address(tensor) for tensor in written}
        read = {address(tensor) for tensor in inputs}
        made = [tensor for tensor in results if address(tensor) not in read]  # no view
        self._made_from(read - places if filled else read, [*written, *made])

    @_quietly
    def launched(
        self, key: Any, values: Sequence[Any], read: Sequence[Any], written: Sequence[Any], judge: Optional[Judge]
    ) -> None:
        """A kernel was launched that may read and write through these tensors. `key`: is the same for launches that are
        judged alike. `judge`: None where it faults as it is."""
        self._look()
        held = {address(each): self._holds[address(each)] for each in read if address(each) in self._holds}
        known = any(each.key == key and each.held == held for each in self._launches)
        if held and judge is not None and not known:
            launch = _Launch(key, tuple(map(_as_now, values)), held, judge)
            later = [(copy, each) for copy in _copies(held.values()) for each in copy.later]
            if not any(launch.faults(*each) for each in later):
                self._launches.append(launch)
            for each in self._launches[-LAUNCHES - 1 : -LAUNCHES]:
                self._launches[-LAUNCHES - 1] = replace(each, values=tuple(map(_unkept, each.values)))
        self._made_from({address(each) for each in [*read, *written]}, written)

    @_quietly
    def wait(self, before: Optional[int] = None) -> None:
        """The host has waited for the copies whose number is less, or for all."""
        self._look()
        self._queue = [each for each in self._queue if before is not None and each.number >= before]
        self._forget()

    def shown(self, tensor: Any) -> None:
        """NumPy has its memory from here on, and writes there unseen."""
        self._arrays.add(address(tensor))

    def _look(self) -> None:
        """See what was written by way of NumPy."""
        seen = [each for each in self._queue if each.source.cdata in self._arrays and each.held is not None]
        for place in {each.source.cdata for each in seen}:
            storage = torch.UntypedStorage._new_with_weak_ptr(place)  # type: ignore[no-untyped-call]
            if storage is not None:
                self._overwritten(seen, storage, lambda: "by way of NumPy")

    def _overwritten(self, copies: Sequence[_Copy], storage: Any, by: Callable[[], str]) -> None:
        for copy in [each for each in copies if each.source.cdata == storage._cdata]:
            later = copy.anew(storage, by, len(self._gpu.watch.compiles))
            if later is not None:
                reading = [each for each in self._launches if copy in _copies(each.held.values())]
                faulty = [each for each in reading if each.faults(copy, later)]
                self._launches = [each for each in self._launches if each not in faulty]

    def _made_from(self, read: Set[int], written: Iterable[Any]) -> None:
        copies = _copies(self._holds[place] for place in read if place in self._holds)
        for tensor in written:
            if copies:
                self._holds[address(tensor)] = _CopiedContent(copies, True, StorageWeakRef(tensor.untyped_storage()))
            else:
                self._holds.pop(address(tensor), None)

    def _forget(self) -> None:
        """What nothing in the queue is behind any more."""
        queue = frozenset(self._queue)
        self._holds = {place: each for place, each in self._holds.items() if each.copies & queue}
        self._launches = [each for each in self._launches if _copies(each.held.values()) & queue]


def as_bytes(storage: Any) -> Any:
    return _view(storage, (storage.nbytes(),), (0, (1,), torch.uint8))


def _view(storage: Any, shape: Tuple[int, ...], view: _View) -> Any:
    offset, strides, dtype = view
    return torch.empty(0, dtype=dtype).set_(storage, offset, shape, strides)


def _copies(held: Iterable[_CopiedContent]) -> FrozenSet[_Copy]:
    return frozenset(copy for each in held for copy in each.copies)


def _on_buffer(change: Callable[[Buffer], Buffer], value: Any) -> Any:
    """A launch's value, with a change to the buffer in it."""
    if isinstance(value, Described) and value.buffer is not None:
        return replace(value, buffer=change(value.buffer))
    return change(value) if isinstance(value, Buffer) else value


def _as_now(value: Any) -> Any:
    """With a copy of what its tensor holds. What is no integer decides nothing that can be followed."""

    def change(buffer: Buffer) -> Buffer:
        if buffer.tensor is None:
            return buffer
        if buffer.size > BYTES or buffer.tensor.is_floating_point():
            return replace(buffer, tensor=None, unread=NOT_KEPT)
        return replace(buffer, tensor=as_bytes(buffer.tensor.untyped_storage().clone()))

    return _on_buffer(change, value)


def _unkept(value: Any) -> Any:
    return _on_buffer(
        lambda each: replace(each, tensor=None, unread=each.unread if each.tensor is None else NOT_KEPT), value
    )


def _with(value: Any, held: Dict[int, _CopiedContent], copy: _Copy, later: Later) -> Any:
    """With the later contents in the place of what the copy took."""

    def change(buffer: Buffer) -> Buffer:
        its = held.get(buffer.storage)
        if its is None or copy not in its.copies:
            return buffer
        if its.derived or later.storage is None:
            return replace(buffer, tensor=None, unread=DERIVED if its.derived else NOT_LOOKED_AT)
        return replace(buffer, tensor=as_bytes(later.storage))

    return _on_buffer(change, value)

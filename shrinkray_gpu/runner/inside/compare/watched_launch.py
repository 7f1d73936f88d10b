"""A launch while a check is looked for: what it reads and writes, and what it makes of other values."""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Container, Dict, Iterator, List, Optional, Sequence, Tuple

from ..launches.launch_log import NOT_FOLLOWED
from ..process.trouble import words_of
from ..static.touched_arguments import touched_arguments
from . import launch_digest
from .inputs import Input, inputs
from .provenance import Provenance
from .sides import OUTPUT, PART, PROBE, Side, elements, sample, text_of, values_of, values_of_ours

Record = Dict[str, Any]

ROOM = 1 << 30
"""Bytes of all that a launch is given, of one that is asked again with other values."""
KEPT = 8
"""Launches that may be."""


class WatchedLaunch:
    """Looks at what a launch is given before it and after it: what is another then, it wrote."""

    def __init__(
        self, observer: Any, function: Tuple[Any, Any], args: Sequence[Tuple[str, Any]], again: Callable[..., Any]
    ) -> None:
        """`function`: the kernel's, and the grid."""
        self.observer, self.function, self.again = observer, function, again
        self.kernel = getattr(function[0], "__name__", str(function[0]))
        self.parameters, self.args = [name for name, _ in args], [value for _, value in args]
        self.inputs: List[Input] = []
        self.grid: Tuple[int, ...] = ()
        """All of it, once a part of it was asked again."""
        self.written: List[Any] = []
        self.given: List[Any] = []
        self.before: List[Any] = []
        self.tape: Any = None
        self.read: Optional[List[Any]] = None
        """What it reads, where that is known; else it may be anything that it is given."""
        self.stored: List[Any] = []
        """What it may write to, where that is known."""
        self.grad_mode = False
        """Whether autograd takes notice of what is done now."""

    def __enter__(self) -> WatchedLaunch:
        provenance = self.observer.provenance
        if provenance is None or provenance.captures():
            return self
        torch = provenance.torch
        self.tape = provenance.tape
        if self.tape is not None:
            self.tape.launching += 1
        self.grad_mode = torch.is_grad_enabled()
        try:
            with quiet(torch):
                self.given = [_whole(torch, each) for each in _distinct(torch, self.args)]
                self.before = [sample(each).clone() for each in self.given]
                self.inputs = inputs(torch, self.parameters, self.args)
        except Exception as error:
            self.observer.trouble = words_of(error)
        return self

    def ran(self, compiled: Any, given: Dict[str, Any]) -> None:
        """The kernel that Triton compiled for it, and what that was given, by name."""
        touched = touched_arguments(compiled, given)
        self.read, self.stored = (touched.read, touched.written) if touched is not None else (None, [])

    def __exit__(self, kind: Any, *_: Any) -> None:
        provenance = self.observer.provenance
        if self.tape is not None:
            self.tape.launching -= 1
        if provenance is None or kind is not None or len(self.before) != len(self.given):
            return
        torch = provenance.torch
        try:
            with quiet(torch):
                changed = [each for each, old in zip(self.given, self.before) if not torch.equal(sample(each), old)]
            self.before.clear()
            # What may be written is named by the virtual GPU, or by the kernel's IR: zeros may come where zeros were.
            # What is read as well, and written, is another by its bytes.
            read = {each.untyped_storage()._cdata for each in _distinct(torch, self.read or [])}
            named = [*self.observer.wrote, *_distinct(torch, self.stored)]
            changed += [each for each in named if each.untyped_storage()._cdata not in read]
            self.observer.wrote = []
            tensors = _distinct(torch, self.args)
            self.read = tensors if self.read is None else _distinct(torch, self.read)
            storages = {each.untyped_storage()._cdata for each in changed}
            self.written = [each for each in tensors if each.untyped_storage()._cdata in storages]
            self.observer.refused = self.observer.refused or self._refused(torch, storages)
            provenance.launched(self.kernel, self.read, changed)
            if self.tape is not None and not self.tape.trouble:
                self.tape.launched(self.kernel, self.read, self.written)
            launches = self.observer.launches
            if sum(each.untyped_storage().nbytes() for each in tensors) <= ROOM:
                launches[len(provenance.kernels) - 1] = self
            for old in sorted(launches)[:-KEPT]:
                del launches[old]
        except Exception as error:
            self.observer.trouble = words_of(error)

    def _refused(self, torch: Any, written: Container[int]) -> str:
        """What it writes in place though torch refuses that: a leaf that requires grad, or a view of one, in grad mode.
        `written`: the storages."""
        for name, value in zip(self.parameters, self.args) if self.grad_mode else ():
            if isinstance(value, torch.Tensor) and value.requires_grad and value.untyped_storage()._cdata in written:
                if (value._base if value._is_view() else value).is_leaf:
                    return "%s of %s" % (name, self.kernel)
        return ""

    def digest(self, provenance: Provenance) -> str:
        """Of its kernel, its arguments, and which of these it reads and writes."""
        given = [*zip(self.parameters, self.args)]
        with quiet(provenance.torch):
            found = launch_digest.digest(provenance.torch, *self.function, given, provenance.sources_of)
        tensors = {id(value): name for name, value in given}
        touched = [[tensors.get(id(each), "") for each in part] for part in (self.read or (), self.written)]
        return "%s %r" % (found, touched)

    def asked_again(self, provenance: Provenance, kind: str = OUTPUT) -> List[Side]:
        """What it writes where its floating-point inputs hold values of ours, which are the same in each run: by these
        a kernel is known whose own inputs let it write one and the same everywhere. Empty where that is not known.

        `PROBE`: they are negative, and sizes are smaller powers of two. Where a mistake at the end of a row hides
        another one, that shows then. `PART`: the last of its programs do not run, so that it shows who writes what."""
        torch, log = provenance.torch, self.observer.log
        compiled, launched = (len(log.compiles), len(log.launches)) if log is not None else (0, 0)
        read = {each.untyped_storage()._cdata for each in self.read or ()}
        try:
            held = {}
            for tensor in _distinct(torch, [*(self.read or ()), *self.written]):
                key = tensor.untyped_storage()._cdata
                whole = held[key] = _roomy(torch, tensor) if kind == PROBE else elements(torch, tensor)
                with quiet(torch):
                    if key not in read:
                        whole.zero_()
                    elif tensor.is_floating_point():
                        sources = provenance.sources_of(tensor)
                        whole.copy_(values_of_ours(torch, whole, sources, negative=kind == PROBE))
            self.again(kind, held)
            if log is not None and any(each["guessed"] or _is_dry(each) for each in log.launches[launched:]):
                return []
            with quiet(torch):
                made = [each if kind != PROBE else held[each.untyped_storage()._cdata] for each in self.written]
                grid = " by a grid of %r" % (self.grid,) if kind == PART else ""
                return [(kind, text_of(each) + grid, values_of(torch, each)) for each in made]
        except Exception:  # memory is short, or a device is in an error
            return []
        finally:
            if log is not None:
                del log.compiles[compiled:], log.launches[launched:]


def _roomy(torch: Any, tensor: Any) -> Any:
    """All that the storage of a tensor holds, in memory with room for as much before it and behind it: at smaller sizes
    a kernel may index further than it did."""
    size = tensor.untyped_storage().nbytes() // tensor.element_size()
    room = torch.zeros(3 * size, dtype=tensor.dtype, device=tensor.device)
    with quiet(torch):
        room[size : 2 * size].copy_(elements(torch, tensor))
    return room


def in_roomy(torch: Any, value: Any, held: Record) -> Any:
    """An argument in the middle of that memory. Raises ValueError where it is none that can be put there."""
    if not isinstance(value, torch.Tensor):
        if isinstance(value, (tuple, list)) or hasattr(value, "base"):
            raise ValueError("a tensor inside another argument")
        return value
    room = held.get(value.untyped_storage()._cdata)
    if room is None:
        return value
    return torch.as_strided(room, value.shape, value.stride(), room.numel() // 3 + value.storage_offset())


def smaller_sizes(kernel: Any, constants: Any, args: Any, named: Record) -> "Tuple[List[Any], Record]":
    """The arguments of a launch, each whole number that is no constant as the next smaller power of two: where a size
    bounds what is touched, it is no more than before. Where one divides it may be: see `_roomy`."""

    def less(name: str, value: Any) -> Any:
        counts = type(value) is int and value > 1 and name in kernel.arg_names and name not in constants
        return 1 << ((value - 1).bit_length() - 1) if counts else value

    positional = [less(name, value) for name, value in zip(kernel.arg_names, args)]
    return positional + list(args[len(positional) :]), {name: less(name, value) for name, value in named.items()}


def sizes_of(grid: Any, meta: Record) -> "Tuple[int, ...]":
    """The grid of a launch."""
    return tuple(int(size) for size in (grid(meta) if callable(grid) else grid))


def part_of(sizes: "Tuple[int, ...]") -> "Tuple[int, ...]":
    """Three quarters of the programs along the longest axis of a grid, and one less where there are few; but one."""
    longest = sizes.index(max(sizes))
    size = sizes[longest]
    part = max(min(-(-3 * size // 4), size - 1), min(size, 1))
    return (*sizes[:longest], part, *sizes[longest + 1 :])


def _is_dry(launch: Record) -> bool:
    """Whether the virtual GPU had a launch of a kernel that it did not run."""
    return bool(launch["unfollowed"] != NOT_FOLLOWED and not launch["interpreted"])


def _whole(torch: Any, tensor: Any) -> Any:
    """All the memory that a tensor is part of."""
    storage = tensor.untyped_storage()
    return torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(storage)


def _distinct(torch: Any, values: List[Any]) -> List[Any]:
    """The tensors among arguments, one for each storage."""
    found: Dict[int, Any] = {}
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if isinstance(value, (tuple, list)):
            waiting += value
            continue
        base = getattr(value, "base", None)
        tensor = value if isinstance(value, torch.Tensor) else base
        if isinstance(tensor, torch.Tensor) and tensor.untyped_storage().nbytes():
            found.setdefault(tensor.untyped_storage()._cdata, tensor)
    return list(found.values())


@contextlib.contextmanager
def quiet(torch: Any) -> Iterator[None]:
    """Within, nobody listens to operations: neither we nor the virtual GPU, where tensors are memory of the host."""
    with torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch(), torch.no_grad():
        yield

"""Comparison: the check that a program fails, of what its kernels wrote against what it expects.

    begin(asked)   before the candidate: listens to torch's operations and to launches
    .end()         after it: which comparison the host looked at last, and how its two sides are to those of another run

A side is the same where it is as far from the other run's as rounding takes it, seen from how far the two sides are
apart: what hides in that is no other mistake. Large tensors are known by a sample of their elements.
"""

from __future__ import annotations

import contextlib
import random
from functools import partial
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

from ..process.patches import Patches
from ..process.trouble import words_of
from ..static import stores
from . import recording
from .chance import SEED
from .provenance import ComparedTensors, Provenance

Record = Dict[str, Any]

SAVE, AGAINST = "comparison to ", "comparison with "
"""In `wants`, before the path of a recording."""
TESTS = (
    *("assert_allclose", "assert_array_equal", "assert_array_almost_equal", "assert_almost_equal", "assert_equal"),
)
"""Of numpy.testing."""
KNOB = "apart"
"""What is left of the distance between the sides, in a run under that control."""
SAMPLE = 1 << 20
"""Elements of a tensor that are looked at."""
SLACK = 0.01
"""Of the largest distance between the two sides: what a side may move by."""
ALONE = 1e-5
"""The same of the largest value of a side that is alone."""


def asked(wants: Any) -> "tuple[str, str]":
    """The file to record to and the one to compare with, by what is wanted; empty where that is not."""
    return tuple(  # type: ignore[return-value]
        next((want[len(each) :] for want in wants if want.startswith(each)), "") for each in (SAVE, AGAINST)
    )


class CheckObserver:
    """At work from now on, until `end`."""

    def __init__(self, save: str, against: str, log: Any, apart: Optional[float] = None) -> None:
        self.save, self.against, self.apart = save, against, apart
        self.brought_nearer = 0
        """How often two sides that are compared were brought nearer to each other; see `Provenance.apart`."""
        self.trouble = ""
        self.provenance: Optional[Provenance] = None
        self._mode: Any = None
        self.wrote: List[Any] = []
        """What the launch under way is known to write to."""
        self._checking = False
        """Whether NumPy is at work on what was told already."""
        self._patches = Patches()
        random.seed(SEED)
        if log is not None:
            self._patches.set(log, "wrote", self._note)
        self._patches.on_import("numpy", self._numpy)
        self._patches.on_import("torch", self._torch)
        self._patches.on_import("triton", self._triton)
        self._patches.on_import("triton.runtime.interpreter", self._interpreter)

    def end(self) -> Optional[Record]:
        """Stop listening. The comparison, with the fields of `run.Comparison`; None where there was none."""
        if self._mode is not None:
            self._mode.__exit__(None, None, None)
        self._patches.undo()
        if self.provenance is None:
            return None
        self.brought_nearer = self.provenance.brought_nearer
        try:
            return self._told(self.provenance)
        except Exception as error:  # a device in an error gives nothing back
            return {**_NOTHING, "trouble": words_of(error)}
        finally:
            self.provenance = None

    def _told(self, provenance: Provenance) -> Optional[Record]:
        torch = provenance.torch
        for compared in filter(None, (*reversed(provenance.checks), provenance.looked)):
            apart = distance(torch, *(_values(torch, side) for _, side in _sides(compared)))
            if apart["elements"] or compared is provenance.looked:
                break
        else:
            return {**_NOTHING, "trouble": self.trouble} if self.trouble or provenance.kernels else None
        if not compared.kernels and (provenance.escaped or not provenance.kernels):
            return dict(_NOTHING)  # values went by Python's hands, and nobody knows where to
        told = {**_NOTHING, **apart, "operation": compared.operation, "trouble": self.trouble}
        told.update(kernels=list(compared.kernels), others=list(compared.others), sources=list(compared.sources))
        told["alone"] = compared.expected is None
        if self.save:
            _recorded(torch, compared).write(self.save)
        if self.against:
            told.update(_moved(torch, compared, recording.read(self.against)))
        return told

    def _torch(self, torch: Any) -> None:
        torch.manual_seed(SEED)
        self.provenance = Provenance(torch, self.apart)
        self._mode = self.provenance.mode()
        self._mode.__enter__()
        for name in ("numpy", "__array__", "tolist"):
            self._patches.wrap(torch.Tensor, name, self._reads)

    def _numpy(self, numpy: Any) -> None:
        numpy.random.seed(SEED)
        self._patches.on_import("numpy.testing", lambda testing: self._checks(testing, TESTS))
        self._checks(numpy, ("allclose", "array_equal", "isclose"))

    def _checks(self, module: Any, names: Sequence[str]) -> None:
        for name in names:
            self._patches.wrap(module, name, partial(self._check, name))

    def _check(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def check(one: Any, other: Any, *args: Any, **kwargs: Any) -> Any:
            provenance = self.provenance
            if provenance is None or self._checking:
                return original(one, other, *args, **kwargs)
            self._checking = True
            try:
                with contextlib.suppress(Exception):  # what is no array of numbers
                    one, other = self._held(provenance, name, one, other)
                return original(one, other, *args, **kwargs)
            finally:
                self._checking = False

        return check

    def _held(self, provenance: Provenance, name: str, *sides: Any) -> "Tuple[Any, Any]":
        torch = provenance.torch
        for side in sides:
            if isinstance(side, torch.Tensor):
                provenance.read(side)
        with _quiet(torch):
            arrays = [_copied(torch, side) for side in sides]
            held = provenance.held(name, *arrays)
        one, other = (side if new is old else new.numpy() for side, old, new in zip(sides, arrays, held))
        return one, other

    def _reads(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def read(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            provenance = self.provenance
            if provenance is not None and not self._checking and tensor.layout is provenance.torch.strided:
                provenance.read(tensor)
            return original(tensor, *args, **kwargs)

        return read

    def _triton(self, _: Any) -> None:
        from triton.runtime.jit import JITFunction

        self._patches.wrap(JITFunction, "run", self._run)

    def _interpreter(self, module: Any) -> None:
        if hasattr(module, "GridExecutor"):
            self._patches.wrap(module.GridExecutor, "__call__", self._interpreted)

    def _run(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def run(kernel: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
            if warmup:
                return original(kernel, *args, grid=grid, warmup=warmup, **kwargs)
            with self._launch(kernel, [*args, *kwargs.values()]) as launch:
                compiled = original(kernel, *args, grid=grid, warmup=warmup, **kwargs)
                launch.read = _read_by(compiled, {**dict(zip(kernel.arg_names, args)), **kwargs})
                return compiled

        return run

    def _interpreted(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(executor: Any, *args: Any, **kwargs: Any) -> Any:
            with self._launch(executor, [*args, *kwargs.values()]):
                return original(executor, *args, **kwargs)

        return call

    def _note(self, tensors: List[Any]) -> None:
        self.wrote += tensors

    def _launch(self, kernel: Any, args: List[Any]) -> "_WatchedLaunch":
        return _WatchedLaunch(self, getattr(kernel.fn, "__name__", str(kernel.fn)), args)


class _WatchedLaunch:
    """Looks at what a launch is given before it and after it: what is another then, it wrote."""

    def __init__(self, observer: CheckObserver, kernel: str, args: List[Any]) -> None:
        self.observer, self.kernel, self.args = observer, kernel, args
        self.given: List[Any] = []
        self.before: List[Any] = []
        self.read: Optional[List[Any]] = None
        """What it reads, where that is known; else it may be anything that it is given."""

    def __enter__(self) -> "_WatchedLaunch":
        provenance = self.observer.provenance
        if provenance is None:
            return self
        torch = provenance.torch
        try:
            with _quiet(torch):
                self.given = [_whole(torch, each) for each in _distinct(torch, self.args)]
                self.before = [_sample(each).clone() for each in self.given]
        except Exception as error:
            self.observer.trouble = words_of(error)
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        provenance = self.observer.provenance
        if provenance is None or kind is not None or len(self.before) != len(self.given):
            return
        torch = provenance.torch
        try:
            with _quiet(torch):
                changed = [each for each, old in zip(self.given, self.before) if not torch.equal(_sample(each), old)]
            read = self.given if self.read is None else _distinct(torch, self.read)
            provenance.launched(self.kernel, read, [*changed, *self.observer.wrote])
            self.observer.wrote = []
        except Exception as error:
            self.observer.trouble = words_of(error)


_NOTHING: Record = {
    "operation": "",
    "kernels": [],
    "others": [],
    "sources": [],
    "alone": False,
    "kind": "",
    "elements": 0,
    "total": 0,
    "largest": 0.0,
    "moved": "",
    "trouble": "",
}


def distance(torch: Any, one: Any, other: Any = None) -> Record:
    """How far two tensors of doubles are apart, as `kind` (`nan`, `wrong`; empty: equal), `elements`, `total` and
    `largest`. Of one alone: how many of its elements are not finite."""
    if other is None:
        lost = int((~one.isfinite()).sum())
        return {"kind": "nan" if lost else "", "elements": lost, "total": one.numel(), "largest": 0.0}
    lost = one.isfinite() != other.isfinite()
    apart = torch.where(one.isfinite() & other.isfinite(), (one - other).abs(), torch.zeros_like(one))
    elements = int(((apart > 0) | lost).sum())
    kind = "nan" if bool(lost.any()) else "wrong" if elements else ""
    largest = float(apart.max()) if apart.numel() else 0.0
    return {"kind": kind, "elements": elements, "total": one.numel(), "largest": largest}


def _moved(torch: Any, compared: ComparedTensors, theirs: recording.Recording) -> Record:
    """In `moved`, which side is not what the other run had there, in words; empty: neither."""
    sides = {each["name"]: each for each in theirs.launches[0]["arguments"]}
    before = {name: _read(torch, theirs, each) for name, each in sides.items()}
    slack = _slack(torch, list(before.values()))
    for name, tensor in _sides(compared):
        if name not in before:  # the oracle tells that there is another side
            continue
        text, values = _text(tensor), _values(torch, tensor)
        if text != sides[name]["text"]:
            return {"moved": "the %s values are %s instead of %s" % (name, text, sides[name]["text"])}
        apart = distance(torch, values, before[name])
        if apart["kind"] == "nan" or apart["largest"] > slack:
            return {"moved": "the %s values are others, by up to %.3g" % (name, apart["largest"])}
    return {"moved": ""}


def _recorded(torch: Any, compared: ComparedTensors) -> recording.Recording:
    contents, arguments = {}, []
    for name, tensor in _sides(compared):
        data = _values(torch, tensor).view(torch.uint8)
        contents[recording.digest(data)] = data
        arguments.append({"name": name, "text": _text(tensor), "after": recording.digest(data)})
    return recording.Recording([{"kernel": "", "arguments": arguments}], "", "", contents)


def _sides(compared: ComparedTensors) -> List[Tuple[str, Any]]:
    both = [("actual", compared.actual), ("expected", compared.expected)]
    return [(name, tensor) for name, tensor in both if tensor is not None]


def _slack(torch: Any, sides: List[Any]) -> float:
    """How much a side may move: of how far the two are apart; of one alone, of the largest value."""
    if len(sides) == 2:
        return SLACK * float(distance(torch, *sides)["largest"])
    known = sides[0][sides[0].isfinite()]
    return ALONE * float(known.abs().max()) if known.numel() else 0.0


def _read(torch: Any, theirs: recording.Recording, side: Record) -> Any:
    return theirs.tensor(torch, side["after"]).view(torch.float64)


def _read_by(kernel: Any, given: Dict[str, Any]) -> Optional[List[Any]]:
    """Of the arguments of a compiled kernel those that it reads through, by its TTIR; None where that is not known."""
    with contextlib.suppress(Exception):  # another Triton, which has another kind of kernel
        names = list(kernel.src.fn.arg_names)
        kinds = kernel.src.signature.items()
        pointers = [key if isinstance(key, str) else names[key] for key, kind in kinds if kind != "constexpr"]
        touched = stores.touched_parameters(kernel.asm["ttir"])
        if touched is not None:
            return [given[pointers[index]] for index in sorted(touched.loaded)]
    return None


def _copied(torch: Any, array: Any) -> Any:
    import numpy

    return torch.from_numpy(numpy.array(array))


def _text(tensor: Any) -> str:
    return "%s of %d elements" % (str(tensor.dtype).rpartition(".")[2], tensor.numel())


def _values(torch: Any, tensor: Any) -> Any:
    """A sample of its elements as doubles, on the CPU, in a row."""
    flat = _sample(tensor.detach().reshape(-1))
    return (flat.abs() if flat.is_complex() else flat).to(device="cpu", dtype=torch.float64).contiguous()


def _sample(flat: Any) -> Any:
    return flat[:: -(-max(flat.numel(), 1) // SAMPLE)]


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
def _quiet(torch: Any) -> Iterator[None]:
    """Within, nobody listens to operations: neither we nor the virtual GPU, where tensors are memory of the host."""
    with torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch(), torch.no_grad():
        yield


__all__ = ["AGAINST", "SAVE", "CheckObserver", "asked", "distance"]

"""Comparison: the check that a program fails, of what its kernels wrote against what it expects.

    CheckObserver(...)   before the candidate: listens to torch's operations and to launches
    .look()              when its script has come to an end: which check the host looked at last that fails
    .end()               after it: puts all back, and tells how the check is to that of another run

Held against another run's are both sides (`sides`), and what the kernel makes of values of ours (`watched_launch`).
"""

from __future__ import annotations

import contextlib
import random
import sys
from functools import partial
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from ..process.patches import Patches
from ..process.trouble import words_of
from . import recording, tolerance
from .chance import SEED
from .inputs import as_sides, given_otherwise
from .non_finite import NonFiniteWatch
from .provenance import Provenance
from .sides import (
    LAUNCH,
    OUTPUT,
    PART,
    PROBE,
    distance,
    has,
    knows,
    made_otherwise,
    moved,
    recorded,
    sides_of,
    text_of,
    values_of,
)
from .tape import Tape
from .watched_launch import WatchedLaunch, in_roomy, part_of, quiet, sizes_of, smaller_sizes

Record = Dict[str, Any]

SAVE, AGAINST = "comparison to ", "comparison with "
"""In `wants`, before the path of a recording."""
GOES_ON = "comparison of draws that go on"
"""In `wants`: no case draws what one before it drew; see `Provenance.anew`."""
KINDS = "comparison also by "
"""In `wants`, before what the recording is to know beside what the kernel makes of values of ours: `PART`, `PROBE`, or
both. In the second the kernel may fault."""
UNWRITTEN = "comparison of memory that nobody wrote"
"""In `wants`: whether the host gets what comes of such memory, see `unwritten`. It takes no recording."""
BLAME = "comparison of who is to blame"
"""In `wants`: what torch did is kept, and done again in float64; see `tape`."""
UNSTEADY = "comparison without "
"""In `wants`, before the keys of `moved` that no candidate is held to: what comes behind them is asked all the same."""
TESTS = (
    *("assert_allclose", "assert_array_equal", "assert_array_almost_equal", "assert_almost_equal", "assert_equal"),
)
"""Of numpy.testing."""
KNOB = "apart"
"""What is left of the distance between the sides, in a run under that control."""


def asked(wants: Any, what: str) -> str:
    """The file to record to (`SAVE`) or to compare with (`AGAINST`), by what is wanted; empty: neither."""
    return next((want[len(what) :] for want in wants if want.startswith(what)), "")


class CheckObserver:
    """At work from now on, until `end`."""

    def __init__(
        self,
        save: str,
        against: str,
        log: Any,
        apart: Optional[float] = None,
        anew: bool = True,
        kinds: Sequence[str] = (),
        unsteady: Sequence[str] = (),
        blaming: bool = False,
    ) -> None:
        self.blaming, self.non_finite = blaming, NonFiniteWatch()
        self.save, self.against, self.apart, self.anew = save, against, apart, anew
        self.kinds, self.unsteady = frozenset(kinds), frozenset(unsteady)
        self.brought_nearer = 0
        """How often two sides that are compared were brought nearer to each other; see `Provenance.apart`."""
        self.trouble = ""
        self.provenance: Optional[Provenance] = None
        self._mode: Any = None
        self.wrote: List[Any] = []
        """What the launch under way is known to write to."""
        self.log = log
        self.launches: Dict[int, WatchedLaunch] = {}
        """The last ones, by number."""
        self.refused = ""
        """What a launch wrote in place though torch refuses that; empty: nothing. See `run.Comparison`."""
        self.unwritten = ""
        """By which operation the host got what comes of memory that nobody wrote; empty: it did not."""
        self._seen: Optional[Record] = None
        self._checking = False
        """Whether NumPy is at work on what was told already."""
        self._asserting = False
        """Whether torch.testing is at work."""
        self._patches = Patches()
        self._seeds = bool(save or against or apart is not None)
        """Whether the run is held against another, so that both must draw the same."""
        if self._seeds:
            random.seed(SEED)
        if log is not None:
            log.on_writing.append(self._note)
            self._patches.on_undo(lambda: log.on_writing.remove(self._note))
        self._patches.on_import("numpy", self._numpy)
        self._patches.on_import("torch", self._torch)
        self._patches.on_import("triton", self._triton)
        self._patches.on_import("triton.runtime.interpreter", self._interpreter)

    def loads_unwritten(self) -> bool:
        """Whether the launch under way loaded memory that nobody wrote, or nobody knows."""
        return self.provenance is None or self.provenance.blank.loaded

    def look(self) -> None:
        """The script has come to its end: see what it compared, while there is a device."""
        provenance, self.provenance = self.provenance, None
        if provenance is None:
            return
        self.brought_nearer, self.unwritten = provenance.brought_nearer, provenance.unwritten
        if not (self._seeds or self.blaming):
            return
        try:
            self._seen = self._told(provenance)
        except Exception as error:  # a device in an error gives nothing back
            self._seen = {**_NOTHING, "trouble": words_of(error)}

    def end(self) -> Optional[Record]:
        """Stop listening. The comparison, with the fields of `run.Comparison`; None where there was none."""
        self.look()
        if self._mode is not None:
            self._mode.__exit__(None, None, None)
        self._patches.undo()
        self.launches.clear()
        return self._seen and {**self._seen, "refused": self.refused}

    def _told(self, provenance: Provenance) -> Optional[Record]:
        torch = provenance.torch
        tape, provenance.tape = provenance.tape, None  # what is done from here on is ours
        for compared in filter(None, (*reversed(provenance.checks), provenance.looked)):
            apart = distance(torch, *(values_of(torch, side) for _, side in sides_of(compared)))
            if apart["elements"] or compared is provenance.looked:
                break
        else:
            return {**_NOTHING, "trouble": self.trouble} if self.trouble or provenance.kernels else None
        if not compared.kernels and (provenance.escaped or provenance.captured or self._has_missed(provenance)):
            return dict(_NOTHING)  # values went where nobody follows them
        told = {**_NOTHING, **apart, "operation": compared.operation, "trouble": self.trouble}
        told.update(kernels=list(compared.kernels), others=list(compared.others), sources=list(compared.sources))
        told.update(alone=compared.expected is None, tolerance=list(compared.tolerance))
        sides = [(name, text_of(tensor), values_of(torch, tensor)) for name, tensor in sides_of(compared)]
        launch = self.launches.get(compared.launch)
        if tape is not None:
            with contextlib.suppress(Exception):  # what cannot be done again says nothing
                told["side"], told["blame"] = tape.blame(compared, launch.written if launch else [])
        if told["kind"] == "nan":
            told["blame"] = "; ".join(filter(None, (told["blame"], self.non_finite.origin)))
        if self.save:
            kinds = (OUTPUT, *(each for each in (PART, PROBE) if each in self.kinds))
            outputs = [side for kind in kinds if launch is not None for side in launch.asked_again(provenance, kind)]
            given = as_sides(torch, launch.inputs) if launch is not None else []
            alike = [(LAUNCH, launch.digest(provenance), sides[0][2][:0])] if launch is not None else []
            recorded([*sides, *given, *outputs, *alike]).write(self.save)
        if self.against:
            theirs = recording.read(self.against)
            found = told["moved"] = moved(torch, sides, theirs, compared.tolerance)
            if launch is not None:
                found.update(given_otherwise(torch, launch.inputs, theirs))
            is_known = launch is not None and knows(theirs, launch.digest(provenance))
            # The last takes a compilation: for what is else the same.
            for kind in () if is_known else (OUTPUT, PART, PROBE):
                if has(theirs, kind) and not (set(found) - self.unsteady):
                    outputs = launch.asked_again(provenance, kind) if launch is not None else []
                    found.update(made_otherwise(torch, kind, outputs, theirs))
        return told

    def _has_missed(self, provenance: Provenance) -> bool:
        """Whether there may be a launch that nobody told of here; or none at all, of which nothing is to say either."""
        logged = len(self.log.launches) if self.log is not None else 0
        return not provenance.kernels or logged > len(provenance.kernels)

    def _torch(self, torch: Any) -> None:
        if self._seeds:
            torch.manual_seed(SEED)
        self.provenance = Provenance(torch, self.apart, self.anew, self._seeds)
        self.provenance.tape = Tape(torch) if self.blaming else None
        self._mode = self.provenance.mode()
        self._mode.__enter__()
        for name in ("numpy", "__array__", "tolist"):
            self._patches.wrap(torch.Tensor, name, self._reads)
        for owner in (torch, torch.Tensor):
            for name in tolerance.TORCH:
                self._patches.wrap(owner, name, self._tolerates)
        self._patches.on_import("torch.testing", lambda it: self._patches.wrap(it, "assert_close", self._asserts))
        self._patches.wrap(torch, "manual_seed", self._seeded)

    def _seeded(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def manual_seed(seed: Any) -> Any:
            if self.provenance is not None:
                self.provenance.seeded(seed)
            return original(seed)

        return manual_seed

    def _numpy(self, numpy: Any) -> None:
        if self._seeds:
            numpy.random.seed(SEED)
        self._patches.on_import("numpy.testing", lambda testing: self._checks(testing, TESTS))
        self._checks(numpy, (*tolerance.NUMPY, "array_equal"))

    def _checks(self, module: Any, names: Sequence[str]) -> None:
        for name in names:
            self._patches.wrap(module, name, partial(self._check, name))

    def _check(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        sides = tolerance.sides_of(original)

        def check(*args: Any, **kwargs: Any) -> Any:
            provenance = self.provenance
            args += tuple(kwargs.pop(name) for name in sides[len(args) :] if name in kwargs)
            if provenance is None or self._checking or len(args) < 2:
                return original(*args, **kwargs)
            one, other, *rest = args
            self._checking = True
            provenance.tolerance = tolerance.of_numpy(original, (one, other, *rest), kwargs)
            try:
                with provenance.asserting() if name in TESTS else contextlib.nullcontext():
                    with contextlib.suppress(Exception):  # what is no array of numbers
                        one, other = self._held(provenance, name, one, other)
                    provenance.tolerance = ()
                    return original(one, other, *rest, **kwargs)
            finally:
                self._checking, provenance.tolerance = False, ()

        return check

    def _tolerates(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def compare(*args: Any, **kwargs: Any) -> Any:
            provenance = self.provenance
            if provenance is None:
                return original(*args, **kwargs)
            provenance.tolerance = tolerance.of_torch(args, kwargs)
            try:
                return original(*args, **kwargs)
            finally:
                provenance.tolerance = provenance.tolerance if self._asserting else ()

        return compare

    def _asserts(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """What it finds apart it looks at again, to tell how far."""

        def check(*args: Any, **kwargs: Any) -> Any:
            self._asserting = True
            try:
                with self.provenance.asserting() if self.provenance is not None else contextlib.nullcontext():
                    return original(*args, **kwargs)
            finally:
                self._asserting = False
                if self.provenance is not None:
                    self.provenance.tolerance = ()

        return check

    def _held(self, provenance: Provenance, name: str, *sides: Any) -> "Tuple[Any, Any]":
        torch = provenance.torch
        for side in sides:
            if isinstance(side, torch.Tensor):
                provenance.read(side)
        with quiet(torch):
            arrays = [_copied(torch, side) for side in sides]
            held = provenance.held(name, *arrays)
        one, other = (side if new is old else new.numpy() for side, old, new in zip(sides, arrays, held))
        return one, other

    def _reads(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def read(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            provenance = self.provenance
            if provenance is not None and not self._checking and tensor.layout is provenance.torch.strided:
                other = provenance.read(tensor)
                if other is not None and provenance.apart is not None:
                    with contextlib.suppress(Exception), quiet(provenance.torch):  # on two devices, or no numbers
                        tensor = provenance.nearer(tensor, other)
            return original(tensor, *args, **kwargs)

        return read

    def _triton(self, _: Any) -> None:
        from triton.runtime.jit import JITFunction

        self._patches.wrap(JITFunction, "run", self._run)

    def _interpreter(self, module: Any) -> None:
        if self.blaming and hasattr(module, "InterpreterBuilder"):
            self.non_finite.install(module, self._patches.wrap)
        if self.provenance is not None:
            self.provenance.blank.install(module, self._patches.wrap)
        if hasattr(module, "GridExecutor"):
            self._patches.wrap(module.GridExecutor, "__call__", self._interpreted)

    def _run(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def run(kernel: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
            if warmup:
                return original(kernel, *args, grid=grid, warmup=warmup, **kwargs)

            def again(kind: str = OUTPUT, held: Optional[Record] = None) -> Any:
                there, positional, named = grid, list(args), kwargs
                if kind == PART:
                    there = partial(_part, launch, grid)
                elif kind == PROBE:
                    constants = [param.name for param in kernel.params if param.is_constexpr]
                    positional, named = _probing(kernel, constants, args, kwargs, held or {})
                return original(kernel, *positional, grid=there, warmup=warmup, **named)

            with self._launch(kernel, grid, args, kwargs, again) as launch:
                compiled = again()
                launch.ran(compiled, {**dict(zip(kernel.arg_names, args)), **kwargs})
                return compiled

        return run

    def _interpreted(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(executor: Any, *args: Any, **kwargs: Any) -> Any:
            def again(kind: str = OUTPUT, held: Optional[Record] = None) -> Any:
                grid, positional, named = executor.grid, list(args), kwargs
                if kind == PROBE:
                    positional, named = _probing(
                        executor, getattr(executor, "constexprs", ()), args, kwargs, held or {}
                    )
                if kind == PART:
                    executor.grid = partial(_part, launch, grid)
                try:
                    return original(executor, *positional, **named)
                finally:
                    executor.grid = grid

            with self._launch(executor, executor.grid, args, kwargs, again) as launch:
                return again()

        return call

    def _note(self, tensors: List[Any]) -> None:
        self.wrote += tensors

    def _launch(
        self, kernel: Any, grid: Any, args: Sequence[Any], named: Record, again: Callable[..., Any]
    ) -> WatchedLaunch:
        given = [*zip(kernel.arg_names, args), *named.items()]
        return WatchedLaunch(self, (kernel.fn, grid), given, again)


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
    "moved": {},
    "side": "",
    "blame": "",
    "trouble": "",
    "tolerance": [],
}


def _part(launch: WatchedLaunch, grid: Any, meta: Record) -> "Tuple[int, ...]":
    launch.grid = sizes_of(grid, meta)
    return part_of(launch.grid)


def _probing(kernel: Any, constants: Any, args: Any, named: Record, held: Record) -> "Tuple[List[Any], Record]":
    torch = sys.modules["torch"]
    positional, named = smaller_sizes(kernel, constants, args, named)
    return [in_roomy(torch, each, held) for each in positional], {
        name: in_roomy(torch, each, held) for name, each in named.items()
    }


def _copied(torch: Any, array: Any) -> Any:
    import numpy

    return torch.from_numpy(numpy.array(array))

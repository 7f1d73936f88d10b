"""Provenance: which launches the values of a tensor come from, and by which comparison, through torch's operations.

Kept for each storage. An operation passes on what its operands come from, through views, in place and backwards; a
launch adds itself to what it changed, with all that it was given. Nothing is known of what another thread computes, of
what NumPy does, and of what torch.compile would make of a program while somebody listens to its operations.
"""

from __future__ import annotations

import contextlib
import zlib
from typing import Any, Counter, Dict, FrozenSet, Iterator, List, NamedTuple, Optional, Tuple

from .unwritten import EMPTY, UnwrittenMemory

COMPARISONS = frozenset("isclose allclose equal eq ne sub rsub lt le gt ge div".split())
"""Operations of two tensors that hold one against the other."""
ANSWERS = frozenset(("allclose", "equal"))
"""Those of them whose result the host has at once."""
READS = frozenset(("_local_scalar_dense", "is_nonzero"))
"""Operations by which the host gets a value of a tensor."""
ITSELF = frozenset(("eq", "ne"))
"""Operations that ask for NaN where both of their operands are the same."""
VALUES = "values"
"""In the place of an operation: Python or NumPy got the values of a tensor."""
CLASSES = frozenset("isnan isinf isfinite isposinf isneginf".split())
"""Operations that ask what kind of numbers a tensor holds."""
OVERWRITES = frozenset(("copy_", "fill_", "zero_", "normal_", "uniform_", "random_", "exponential_", "bernoulli_"))
"""Operations after which nothing is left of what was in their first operand, where they are given all of it."""


DRAWS = frozenset(
    "rand randn randint randperm normal rand_like randn_like randint_like multinomial bernoulli native_dropout".split()
) | (OVERWRITES - {"copy_", "fill_", "zero_"})
"""Operations that draw random numbers."""
BLANK = EMPTY | {"zeros"}
"""Operations that make what a kernel writes to."""
MOST = 4
"""Comparisons that are kept, with their tensors."""
ROOM = 1000
"""Storages that are known at once, at least."""


class ComparedTensors(NamedTuple):
    """Two tensors that do not both come from the same launches; or one that comes from some."""

    operation: str
    actual: Any
    expected: Any
    """None: there is no other."""
    kernels: Tuple[str, ...]
    """Those that `actual` comes from, by name, in the order of their launches; none: then `expected` neither."""
    others: Tuple[str, ...]
    """Those that `expected` comes from."""
    sources: Tuple[str, ...]
    """What `actual` comes from in the beginning."""
    launch: int
    """The last launch that `actual` comes from; -1: none."""
    tolerance: Tuple[float, ...] = ()
    """What may be between the two, as `rtol` and `atol`; empty: not known."""


class _Origin(NamedTuple):
    launches: FrozenSet[int] = frozenset()
    comparisons: FrozenSet[int] = frozenset()
    """By number. One of two tensors that no launch made has a negative number."""
    sources: FrozenSet[str] = frozenset()
    """Tensors that no other was made into: drawn, counted, written down."""
    unwritten: bool = False
    """Whether something was computed of memory that nobody wrote."""
    held: FrozenSet[int] = frozenset()
    """Those of the launches that are in a comparison."""

    def __or__(self, other: Any) -> "_Origin":
        return _Origin(*(one | another for one, another in zip(self, other)))

    def is_distance(self) -> bool:
        """Whether all that launches made was held against something on the way. A reference that subtracts is none."""
        return bool(self.launches) and self.launches <= self.held

    def may_tolerate(self, distance: Any) -> bool:
        """Whether it may be what a distance is held against to pass: no other launch made it."""
        return bool(distance.is_distance() and self.launches <= distance.launches)


_NOTHING = _Origin()


class Provenance:
    """Of all tensors of a program, as far as operations and launches are told here."""

    def __init__(self, torch: Any, apart: Optional[float] = None, anew: bool = True, seeds: bool = True) -> None:
        self.torch = torch
        self.blank = UnwrittenMemory(torch)
        self.unwritten = ""
        """The first operation by which the host got, or failed at, what comes of memory that nobody wrote."""
        self.seeds = seeds
        """Whether what is drawn is ours to choose."""
        self.anew = anew
        """Whether what is drawn after a check is what was drawn before it: cases that come one after another draw the
        same then, whether or not those before are there."""
        self.apart = apart
        """What is left of the distance between two tensors that are compared, of which one comes from a launch; None:
        all of it."""
        self.brought_nearer = 0
        self.tolerance: Tuple[float, ...] = ()
        """Of the function that holds tensors against each other now."""
        self.tape: Any = None
        """Where all this is to be done again: `tape.Tape`."""
        self.kernels: List[str] = []
        """By launch."""
        self.checks: List[ComparedTensors] = []
        """What the host looked at: comparisons of two tensors, and what kind of numbers one holds that comes from a
        launch. The last `MOST` of them."""
        self.looked: Optional[ComparedTensors] = None
        """The last other look at values of one tensor that comes from a launch."""
        self.captured = False
        """Whether a CUDA graph holds operations or launches, whose replays nobody tells of."""
        self.escaped: List[Any] = []
        """Tensors whose values Python or NumPy got, the last `MOST` of those that come from a launch."""
        self._drawn: Counter[str] = Counter()
        """How often each was drawn, or made, so far; see `anew`."""
        self._seeds: Dict[Any, int] = {}
        """Numbers of the seeds that the program set. The first is 0, and so is none, unless something was drawn."""
        self._series = 0
        self._before: Any = None
        """The one whose values they got before."""
        self._origins: Dict[int, Tuple[Any, _Origin]] = {}
        """By storage, with a weak reference to it: as long as that is here, its address is not used again."""
        self._room = ROOM
        """Entries, beyond which those of storages that are gone go."""
        self._comparisons: Dict[int, ComparedTensors] = {}
        self._made = 0

    def mode(self) -> Any:
        """What tells of each operation while it is entered."""
        from torch.utils._python_dispatch import TorchDispatchMode

        provenance = self

        class Listening(TorchDispatchMode):
            @classmethod
            def _should_skip_dynamo(cls) -> bool:
                return False

            def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                name = func._schema.name.partition("::")[2]
                if provenance.captures():
                    return func(*args, **(kwargs or {}))
                if name in DRAWS and provenance.seeds:
                    provenance._seed(name, args)
                provenance._taped(lambda tape, given: tape.before(given), args, kwargs)
                taken = provenance.blank.taken(func, name, args, kwargs or {}, provenance._tensors)
                unwritten = any(map(provenance.blank.is_in, taken))
                try:
                    out = func(*provenance._nearer(name, args, kwargs or {}), **(kwargs or {}))
                except Exception:
                    provenance.host_gets(name, taken)
                    raise
                if name in EMPTY:
                    provenance.blank.fill(out)
                made = list(provenance._tensors(out))
                unwritten = unwritten and not provenance.blank.moved(name, taken, made)
                provenance._operation(name, args, kwargs or {}, out, unwritten)
                provenance._taped(
                    lambda tape, given: tape.did(name, func, (args, kwargs or {}), out, given, made), args, kwargs
                )
                return out

        return Listening()

    def _taped(self, told: Any, args: Any, kwargs: Any) -> None:
        if self.tape is None or self.tape.trouble or self.tape.launching:
            return
        try:
            told(self.tape, list(self._tensors((args, kwargs or {}))))
        except Exception:  # memory is short, or a tensor has none
            self.tape.trouble = True

    def captures(self) -> bool:
        """Whether what is done now goes to a CUDA graph, which must hold nothing of ours."""
        cuda = self.torch.cuda
        captures = bool(cuda.is_initialized() and cuda.is_current_stream_capturing())
        self.captured = self.captured or captures
        return captures

    def launched(self, kernel: str, read: List[Any], changed: List[Any]) -> None:
        """A launch read some tensors, and changed what some hold."""
        self.kernels.append(kernel)
        origin = _Origin(frozenset((len(self.kernels) - 1,)), unwritten=self.blank.loaded)
        self.blank.loaded = False
        for tensor in read:
            # What a launch makes of a distance is a value again, as a gradient is of a loss.
            origin |= self._of(tensor)._replace(comparisons=frozenset(), held=frozenset())
        for tensor in changed:
            self._remember(tensor, origin)

    def _names(self, origin: _Origin) -> Tuple[str, ...]:
        return tuple(dict.fromkeys(self.kernels[launch] for launch in sorted(origin.launches)))

    def _of(self, tensor: Any) -> _Origin:
        return self._origins.get(_storage(tensor), (None, _NOTHING))[1]

    def _remember(self, tensor: Any, origin: _Origin) -> None:
        from torch.multiprocessing.reductions import StorageWeakRef

        self._origins[_storage(tensor)] = (StorageWeakRef(tensor.untyped_storage()), origin)
        if len(self._origins) > self._room:
            self._origins = {key: each for key, each in self._origins.items() if not each[0].expired()}
            self.blank.forget()
            self._room = ROOM + 2 * len(self._origins)

    def _nearer(self, name: str, args: Any, kwargs: Any) -> Any:
        """The operands of a comparison, as near as they are to be."""
        if self.apart is None or name not in COMPARISONS or len(list(self._tensors((args, kwargs)))) != 2:
            return args
        one, other = args[:2]
        if not (isinstance(one, self.torch.Tensor) and isinstance(other, self.torch.Tensor)):
            return args
        if self._compares(one, other):
            if self._of(one).launches:
                return (self.nearer(one, other), *args[1:])
            return (one, self.nearer(other, one), *args[2:])
        return args

    def nearer(self, actual: Any, expected: Any) -> Any:
        """What is as far from `expected`, in the direction of `actual`, as is left."""
        self.brought_nearer += 1
        far, near = (each.detach().to(self.torch.float64) for each in (actual, expected.reshape(actual.shape)))
        distance = self.torch.where(far.isfinite() & near.isfinite(), far - near, self.torch.zeros_like(far))
        return (near + float(self.apart or 0.0) * distance).to(actual.dtype)

    def _compares(self, one: Any, other: Any) -> bool:
        mine, theirs = self._of(one), self._of(other)
        if one.numel() != other.numel() or not one.numel() or mine.launches == theirs.launches:
            return False
        return not (mine.may_tolerate(theirs) or theirs.may_tolerate(mine))

    def _source(self, name: str, out: Any) -> str:
        """By what it is and its shape, and the how manyeth such it is."""
        shapes = ", ".join(repr(list(each.shape)) for each in self._tensors(out))
        self._drawn["made " + name + shapes] += 1
        return "%s %s, %d" % (name, shapes, self._drawn["made " + name + shapes])

    def _seed(self, name: str, args: Any) -> None:
        """What is drawn hangs on the shape, and on how often that was drawn before: a draw less elsewhere changes no
        other."""
        shapes = [tuple(each.shape) if isinstance(each, self.torch.Tensor) else each for each in args]
        key = "%s %r" % (name, shapes)
        self._drawn[key] += 1
        series = " of %d" % self._series if self._series else ""
        seed = zlib.crc32(("%s %d%s" % (key, self._drawn[key], series)).encode())
        self.torch.default_generator.manual_seed(seed)
        if self.torch.cuda.is_initialized():
            for generator in self.torch.cuda.default_generators:
                generator.manual_seed(seed)

    def seeded(self, seed: Any) -> None:
        """The program set this seed: two models that it makes with one seed are alike."""
        drawn = [key for key in self._drawn if not key.startswith("made ")]
        if drawn:
            self._seeds.setdefault(None, 0)
        self._series = self._seeds.setdefault(seed, len(self._seeds))
        for key in drawn:
            del self._drawn[key]

    def host_gets(self, name: str, tensors: List[Any]) -> None:
        """By this operation, the values of these: it reads them, or fails at them."""
        if not self.unwritten and any(self._of(each).unwritten or self.blank.is_in(each) for each in tensors):
            self.unwritten = name

    def _operation(self, name: str, args: Any, kwargs: Any, out: Any, unwritten: bool) -> None:
        inputs = list(self._tensors((args, kwargs)))
        origin = _Origin(unwritten=unwritten)
        for tensor in inputs[1:] if name in OVERWRITES and _is_whole(inputs[0]) else inputs:
            origin |= self._of(tensor)
        if name in COMPARISONS and len(inputs) == 2:
            origin |= self._compared(name, *inputs)
        of_kind = name in CLASSES or (name in ITSELF and len(inputs) == 2 and inputs[0] is inputs[1])
        if (of_kind or name in READS) and origin.launches and not origin.is_distance():
            origin |= self._noted(self._alone(name, inputs[0]), origin.launches)
        if name in ANSWERS or name in READS:
            self._decided(origin)
            self.unwritten = self.unwritten or (name if origin.unwritten else "")
        if name in DRAWS or not (inputs or name in BLANK):
            origin |= _Origin(sources=frozenset((self._source(name, out),)))
        for tensor in self._tensors(out):
            self._remember(tensor, origin)

    def sources_of(self, tensor: Any) -> str:
        """What the values of a tensor come from in the beginning."""
        return "; ".join(sorted(self._of(tensor).sources))

    def read(self, tensor: Any) -> Any:
        """Python or NumPy got the values of a tensor, past all operations. Returns the tensor whose values they got
        before, if the two may be held against each other there."""
        before, self._before = self._before, tensor
        self.host_gets(VALUES, [tensor])
        compared = before is not None and self._compares(before, tensor)
        if compared:
            self._decided(self._compared(VALUES, before, tensor))
        if self._of(tensor).launches:
            self.escaped = [*self.escaped, tensor][-MOST:]
            self._decided(self._noted(self._alone(VALUES, tensor), self._of(tensor).launches))
        return before if compared else None

    def held(self, name: str, one: Any, other: Any) -> Any:
        """NumPy holds two arrays against each other, which are here as tensors. One that comes from a launch is known
        by its values. Returns the two as they are to be held."""
        for actual, expected in ((one, other), (other, one)):
            for tensor in self.escaped:
                if tensor.numel() == actual.numel() and self._is_same(tensor, actual):
                    seen = self._alone(name, tensor)._replace(actual=actual, expected=expected)
                    self.checks = [*self.checks, seen][-MOST:]
                    self._begin_case()
                    if self.apart is None or actual.numel() != expected.numel():
                        return one, other
                    nearer = self.nearer(actual, expected)
                    return (nearer, other) if actual is one else (one, nearer)
        return one, other

    @contextlib.contextmanager
    def asserting(self) -> Iterator[None]:
        """Within, a function checks what it is given. What it lets pass is no check that fails. Where that fails, what
        no launch made is none: a reference of a scalar may be a quotient, and its value is read for the message."""
        before = self.checks
        try:
            yield
            self.checks = before
        except Exception:
            looked = [each for each in self.checks if not any(each is old for old in before)]
            self.checks = [*before, *([each for each in looked if each.kernels] or looked)][-MOST:]
            raise

    def _is_same(self, one: Any, other: Any) -> bool:
        first, second = (each.detach().reshape(-1).to("cpu", self.torch.float64) for each in (one, other))
        return bool(self.torch.equal(first, second))

    def _compared(self, name: str, one: Any, other: Any) -> _Origin:
        mine, theirs = self._of(one), self._of(other)
        plain = not (mine.launches or theirs.launches) and one.numel() == other.numel() > 0
        if not (plain or self._compares(one, other)):
            return _NOTHING
        if not mine.launches or mine.is_distance():
            one, other, mine, theirs = other, one, theirs, mine
        compared = self._alone(name, one)._replace(expected=other, others=self._names(theirs))
        return self._noted(compared, mine.launches | theirs.launches)

    def _alone(self, name: str, tensor: Any) -> ComparedTensors:
        origin = self._of(tensor)
        last = max(origin.launches, default=-1)
        sources = tuple(sorted(origin.sources))
        return ComparedTensors(name, tensor, None, self._names(origin), (), sources, last, self.tolerance)

    def _noted(self, comparison: ComparedTensors, launches: FrozenSet[int]) -> _Origin:
        self._made += 1
        number = self._made if comparison.kernels else -self._made
        self._comparisons[number] = comparison
        alike = [n for n, each in self._comparisons.items() if bool(each.kernels) == bool(comparison.kernels)]
        for old in alike[: -2 * MOST]:
            del self._comparisons[old]  # which holds its tensors in memory
        return _Origin(comparisons=frozenset((number,)), held=launches)

    def _begin_case(self) -> None:
        if self.anew:
            self._drawn.clear()

    def _decided(self, origin: _Origin) -> None:
        launched = origin.is_distance()  # then what was subtracted before is not what is looked at
        for number in sorted((each for each in origin.comparisons if each > 0 or not launched), key=abs):
            found = self._comparisons.get(number)
            if found is not None and found.kernels and found.expected is not None:
                self._begin_case()
            if found is not None and (found.expected is not None or found.operation not in (*READS, VALUES)):
                self.checks = [*self.checks, found][-MOST:]
            elif found is not None:
                self.looked = found

    def _tensors(self, value: Any) -> Iterator[Any]:
        if isinstance(value, self.torch.Tensor):
            if value.layout is self.torch.strided and value.device.type != "meta":
                yield value
        elif isinstance(value, (tuple, list)):
            for each in value:
                yield from self._tensors(each)
        elif isinstance(value, dict):
            yield from self._tensors(list(value.values()))


def _storage(tensor: Any) -> int:
    return int(tensor.untyped_storage()._cdata)


def _is_whole(tensor: Any) -> bool:
    return bool(tensor.is_contiguous() and tensor.numel() * tensor.element_size() == tensor.untyped_storage().nbytes())

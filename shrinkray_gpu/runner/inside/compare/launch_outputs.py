"""Observe: what each launch did to its tensors, and where another run of the same program did something else.

    begin(log, save, against, knobs)   before the candidate: settles chance, wraps the doors that launches go by
    .end()                             after it: writes the recording to `save`, compares with the one in `against`

At a launch nothing waits for the device: tensors are copied on the stream that the kernel runs on (`ring`), and read
at the end. Arguments are known by the names of their parameters, so that a launch in Triton's interpreter compares with
one on the device. Launches that only measure time (the autotuner's, `do_bench`) are left out: their number is chance.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from typing import Any, Dict, Iterator, List, Mapping, Tuple

from ..launches import launch_arguments
from ..process.patches import Patches
from ..process.trouble import note_trouble
from . import recording
from .bounds import OUTSIDE, Bounds
from .chance import Chance
from .compare import NOTHING, compare
from .ring import Ring

Record = Dict[str, Any]

ROOM = 512 << 20
"""Bytes of copies kept for each stream, at most; a sixteenth of what the device has free, where that is less."""
OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg", "waves_per_eu", "matrix_instr_nonkdim", "kpack")
BENCHES = ("do_bench", "do_bench_cudagraph", "do_bench_proton")


class Observer:
    """At work from now on, until `end`."""

    def __init__(self, save: str, against: str, knobs: Mapping[str, str], room: int = ROOM) -> None:
        self.save, self.against, self.knobs, self.room = save, against, frozenset(knobs), room
        self.situation = recording.situation()
        self.launches: List[Record] = []
        self._chance = Chance()
        self._bounds = Bounds()
        self._rings: Dict[Any, Ring] = {}
        self._patches = Patches()
        self._measuring = 0
        self._lock = threading.Lock()
        self._chance.settle()
        self._patches.on_import("triton", self._triton)
        self._patches.on_import("triton.runtime.interpreter", self._interpreter)
        self._patches.on_import("torch._inductor.runtime.triton_heuristics", self._inductor)

    def end(self) -> Record:
        """Take the wrappers off, then read and compare."""
        self._patches.undo()
        self._chance.end()
        mine = self._recorded()
        self._rings.clear()
        self.launches = []
        if self.save:
            mine.write(self.save)
        if not self.against:
            return {"differences": [], "incomparable": mine.trouble or ("" if mine.launches else NOTHING)}
        try:
            theirs = recording.read(self.against)
        except (OSError, ValueError) as error:
            return {"differences": [], "incomparable": "the other run left no recording: %s" % error}
        differences, incomparable = compare(sys.modules.get("torch"), theirs, mine, self.knobs)
        return {"differences": differences, "incomparable": incomparable}

    # The doors.

    def _triton(self, _: Any) -> None:
        from triton.runtime import autotuner
        from triton.runtime.jit import JITFunction

        testing = sys.modules.get("triton.testing")
        self._patches.wrap(JITFunction, "run", self._jit_run)
        if hasattr(autotuner.Autotuner, "_bench"):
            self._patches.wrap(autotuner.Autotuner, "_bench", self._measure)
        for name in BENCHES:
            if hasattr(testing, name):
                self._patches.wrap(testing, name, self._measure)

    def _interpreter(self, module: Any) -> None:
        if hasattr(module, "GridExecutor"):
            self._patches.wrap(module.GridExecutor, "__call__", self._interpreted)
            self._bounds.install(module, self._patches.wrap)

    def _inductor(self, module: Any) -> None:
        if hasattr(module, "CachingAutotuner"):
            self._patches.wrap(module.CachingAutotuner, "run", self._inductor_run)

    def _jit_run(self, original: Any) -> Any:
        def run(kernel: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
            constexprs = {p.name for p in kernel.params if p.is_constexpr}
            observed = self._launch(kernel.fn, args, kwargs, constexprs, kernel)
            with contextlib.nullcontext() if warmup else observed:
                return original(kernel, *args, grid=grid, warmup=warmup, **kwargs)

        return run

    def _interpreted(self, original: Any) -> Any:
        def call(executor: Any, *args: Any, **kwargs: Any) -> Any:
            with self._launch(executor.fn, args, kwargs, getattr(executor, "constexprs", ()), executor) as launch:
                self._bounds.begin()
                try:
                    return original(executor, *args, **kwargs)
                finally:
                    if self._bounds.left:
                        launch["trouble"] = OUTSIDE

        return call

    def _inductor_run(self, original: Any) -> Any:
        def run(tuner: Any, *args: Any, **kwargs: Any) -> Any:
            observed = self._launch(tuner.fn, args, {}, (), tuner.fn)
            with contextlib.nullcontext() if kwargs.get("benchmark_run") else observed:
                return original(tuner, *args, **kwargs)

        return run

    def _measure(self, original: Any) -> Any:
        def measure(*args: Any, **kwargs: Any) -> Any:
            self._measuring += 1
            try:
                return original(*args, **kwargs)
            finally:
                self._measuring -= 1

        return measure

    # One launch.

    @contextlib.contextmanager
    def _launch(self, function: Any, args: Any, kwargs: Record, constexprs: Any, kernel: Any) -> Iterator[Record]:
        launch: Record = {"kernel": getattr(function, "__name__", str(function)), "error": "", "dropped": False}
        launch.update(trouble="", arguments=[])
        if self._measuring:
            yield launch
            return
        spans: List[Tuple[Record, Any, Any]] = []
        with self._lock:  # the thread of a backward pass launches too
            self.launches.append(launch)
            with note_trouble(launch):
                spans = self._before(launch, kernel, args, kwargs, constexprs)
        try:
            yield launch
        except BaseException as error:
            launch["error"] = "%s: %s" % (type(error).__name__, str(error).splitlines()[0] if str(error) else "")
            raise
        finally:
            if not launch["trouble"] and not launch["error"]:
                with self._lock, note_trouble(launch):
                    for argument, ring, span in spans:
                        argument["after"] = ring.copy(span, launch)

    def _before(
        self, launch: Record, kernel: Any, args: Any, kwargs: Record, constexprs: Any
    ) -> List[Tuple[Record, Any, Any]]:
        """Describe the arguments and copy the tensors among them, each piece of memory once."""
        torch = sys.modules.get("torch")
        names = list(kernel.arg_names)
        given = {**dict(zip(names, args)), **{name: value for name, value in kwargs.items() if name in names}}
        spans: List[Tuple[Record, Any, Any]] = []
        seen = set()
        for name in names:
            if name in constexprs:
                launch["arguments"] += [_told(name, "constexpr", given[name])] if name in given else []
                continue
            for part, value in _parts(name, given[name]) if name in given else ():
                if torch is None or not isinstance(value, torch.Tensor):
                    launch["arguments"].append(_told(part, "scalar", value))
                    continue
                text = "%s%r s%r" % (str(value.dtype).rpartition(".")[2], list(value.shape), tuple(value.stride()))
                argument: Record = {"name": part, "role": "tensor", "text": text}
                argument["dtype"] = str(value.dtype).rpartition(".")[2]
                launch["arguments"].append(argument)
                if not value.numel():
                    continue
                span, ring = _span(torch, value), self._ring(torch, value.device)
                place = (span.data_ptr(), span.numel())
                if place not in seen:
                    seen.add(place)
                    argument["before"] = ring.copy(span, launch)
                    spans.append((argument, ring, span))
        launch["arguments"] += [_told(o, "option", kwargs[o]) for o in OPTIONS if o in kwargs and o not in names]
        return spans

    def _ring(self, torch: Any, device: Any) -> Ring:
        """The ring of the stream that the kernel will run on. One for each: the copies of two would overtake."""
        stream, room = 0, self.room
        if device.type == "cuda":
            if torch.cuda.is_current_stream_capturing():
                raise RuntimeError("it is captured in a CUDA graph, which runs later")
            stream = torch.cuda.current_stream(device).cuda_stream
        key = (device, stream)
        if key not in self._rings:
            if device.type == "cuda":
                room = min(room, torch.cuda.mem_get_info(device)[0] // 16)
            with torch.inference_mode(False):
                self._rings[key] = Ring(_unfilled(torch)(room, dtype=torch.uint8, device=device))
        return self._rings[key]

    # At the end.

    def _recorded(self) -> recording.Recording:
        """Read all copies; the device is waited for here. Digests take their places in the launches."""
        contents: Dict[str, Any] = {}
        try:
            read = {id(ring): ring.read() for ring in self._rings.values()}
            for launch in self.launches:
                for argument in launch["arguments"]:
                    for when in ("before", "after"):
                        copy = argument.pop(when, None)
                        if copy is None or launch["dropped"]:
                            continue
                        data = read[id(copy.ring)][copy.start : copy.start + copy.size]
                        name = argument[when] = recording.digest(data)
                        contents.setdefault(name, data)
        except RuntimeError as error:
            text = str(error).splitlines()[0]
            return recording.Recording([], self.situation, "the outputs cannot be read: %s" % text, {})
        return recording.Recording(self.launches, self.situation, "", contents)


def _unfilled(torch: Any) -> Any:
    """torch.empty as it was before `chance` took care of it."""
    return getattr(torch.empty, "__wrapped__", torch.empty)


def _span(torch: Any, tensor: Any) -> Any:
    """The bytes from the tensor's first element to its last, gaps between them included: kernels know only where it
    starts. An expanded tensor is no longer than what it was expanded from."""
    size = tensor.element_size()
    reach = 1 + sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride()))
    bare = _unfilled(torch)(0, dtype=torch.uint8, device=tensor.device)
    return bare.set_(tensor.untyped_storage(), tensor.storage_offset() * size, (reach * size,), (1,))


def _parts(name: str, value: Any) -> Iterator[Tuple[str, Any]]:
    """The argument itself, the items of a tuple, the tensor behind a descriptor or a reinterpreted pointer."""
    if isinstance(value, (tuple, list)):
        for index, item in enumerate(value):
            yield from _parts("%s[%d]" % (name, index), item)
        return
    base = getattr(value, "base", None)
    yield name, base if hasattr(base, "data_ptr") else value


def _told(name: str, role: str, value: Any) -> Record:
    return {"name": name, "role": role, "text": launch_arguments.describe(value)}

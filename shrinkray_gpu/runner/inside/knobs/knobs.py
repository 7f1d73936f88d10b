"""Knobs: the same program text, run with one thing turned at launch or while Triton compiles it.

    num_stages num_warps num_ctas maxnreg   options of every kernel, where `parse_options` makes them: whoever asks for
    waves_per_eu matrix_instr_nonkdim kpack the kernel (a launch, an autotuned Config, Inductor), and however;
                                            num_stages also of every `tl.range` that names stages of its own
    ptxas llvm                              optimisation level, as an option or in the environment Triton reads
    no-buffer-ops                           AMD's backend makes no buffer operations, by the environment that it reads
    skip                                    a pass of Triton's is left out (`passes`), and each kernel compiled anew
    int64                                   a product of two 32-bit integers has 64 bits, so that none overflows; on a
                                            GPU that is counted only where one would have (`overflow`)
    serial                                  the device is waited for before and after each launch
    zeroed-outputs zeroed-outputs-but       a kernel is compiled, and zeros are put where it would have written: any
                                            one, or any but one
    usual-type other-type                   one argument of a launch is another (`arguments`)
    other-constant usual-constant
    other-numbers                           what is refused is asked again with other constants; counted is whether it
                                            is refused alike with each
    zeroed-shared                           kernels of CUDA C++ are compiled with a beginning of ours (`zeroing`)
    interpreter                             turned by the environment; only the interpreted launches are counted here

Turning changes the kernel's key (`kernelkey`), and sets aside what kernels a JITFunction holds in memory, so that no
run is given a kernel of the other kind. Doors that a Triton does not have stay as they are: nothing turned, 0 counted.

What is counted is launches of kernels that *came out otherwise*: a control that had nothing to turn has shown nothing.
Of stages that is told from the TTIR: a kernel without a loop is the same kernel with any number of them.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import sys
import threading
from collections import Counter
from typing import Any, Callable, Dict, Iterator, Mapping, Optional, Set

from ..cuda_cpp import zeroing
from ..launches import kernelkey, loopbounds
from ..process import device, environment
from ..process.patches import Patches
from ..static.touched_arguments import touched_arguments
from . import arguments, overflow, passes, zeroed_stores

OPTIONS = ("num_stages", "num_warps", "num_ctas", "maxnreg", "waves_per_eu", "matrix_instr_nonkdim", "kpack")
NO_BUFFER_OPS = "no-buffer-ops"
ZEROED_OUTPUTS, ZEROED_BUT = "zeroed-outputs", "zeroed-outputs-but"
COMPILING = (*OPTIONS, "ptxas", "llvm", "int64", NO_BUFFER_OPS, passes.KNOB)
"""What changes the kernels."""
_LEVEL = re.compile(r"(?:-O|--opt-level[ =])([0-9])")
_BUFFER_OPS = "AMDGCN_USE_BUFFER_OPS"
_NOTE = "shrink_stages.txt"
_PLAIN_PTXAS = "3"


class _Pending(threading.local):
    """What was changed in this thread for the kernel that comes next."""

    def __init__(self) -> None:
        self.options: Set[str] = set()
        self.parameters: Set[str] = set()
        self.loops = 0
        self.turned_loops = 0


class TurnedKnobs:
    """Knobs, turned for the candidate that `log` watches. `end` turns them back and tells how often each one changed
    something."""

    def __init__(self, knobs: Mapping[str, str], log: Any) -> None:
        self.knobs, self.log = dict(knobs), log
        self.options = {name: int(value) for name, value in knobs.items() if name in OPTIONS}
        self.pending = _Pending()
        self.kernels: Dict[str, Set[str]] = {}
        """Of each kernel compiled, by its hash: the knobs that made it another one."""
        self.launched: Counter = Counter()
        self.compiled_otherwise: Counter = Counter()
        self.launches = 0
        self.patches = Patches()
        self.seen: Dict[int, Any] = {}
        self.witness = overflow.Witness()
        self.compiling = any(name in COMPILING for name in self.knobs)
        self._key()
        self._environment()
        log.listeners.append(self)
        self.patches.on_import("triton", self._install)  # the watch asked first: its wrappers are inside of ours
        if "interpreter" in self.knobs or ZEROED_OUTPUTS in self.knobs:
            self.patches.on_import("triton.runtime.interpreter", self._door_of_interpreter)
        if zeroing.KNOB in self.knobs:
            zeroing.turn()

    def end(self) -> Dict[str, int]:
        self.patches.undo()
        kernelkey.turn("")
        if zeroing.KNOB in self.knobs:
            self.compiled_otherwise[zeroing.KNOB] = zeroing.end()
        if self in self.log.listeners:
            self.log.listeners.remove(self)
        counts = {name: self.launched[name] or self.compiled_otherwise[name] for name in self.knobs}
        if self.knobs.get(passes.KNOB) == "":  # nothing is left out
            del counts[passes.KNOB]
        if "serial" in counts:  # the launch that is alone, or the first, has no other to wait for
            counts["serial"] = max(0, self.launches - 1)
        if "int64" in counts:
            noted = self.witness.end()
            counts["int64"] = self.launches if noted.get("overflowed", 1) else 0
            if "outside" in noted:
                counts["outside"] = noted["outside"]
        return counts

    def _key(self) -> None:
        turned = ["%s=%s" % pair for pair in sorted(self.knobs.items()) if pair[0] in COMPILING]
        turned += [os.urandom(8).hex()] * (passes.KNOB in self.knobs)
        kernelkey.turn(" ".join(turned + ["noted at %d" % self.witness.address] * bool(self.witness.address)))

    def _environment(self) -> None:
        """Triton reads both variables at each compilation, from the environment of the moment."""
        self.plain_levels = {
            "ptxas": "0" if _on("DISABLE_PTXAS_OPT") else "",
            "llvm": "0" if _on("DISABLE_LLVM_OPT") else "3",
        }
        self.buffer_ops = os.environ.get(_BUFFER_OPS) != "0"
        if NO_BUFFER_OPS in self.knobs:
            self._setenv(_BUFFER_OPS, "0")
        if self.knobs.get("llvm") == "0":
            self._setenv("DISABLE_LLVM_OPT", "1")
        if self.knobs.get("ptxas", "0") != "0":
            self._setenv("DISABLE_PTXAS_OPT", None)

    def _setenv(self, name: str, value: Optional[str]) -> None:
        self.patches.on_undo(environment.restorer([name]))
        environment.put(name, value)

    def _install(self, _: Any) -> None:
        doors = [self._doors_of_options, self._doors_of_loops, self._doors_of_products, self._doors_of_passes]
        doors.append(self._door_of_launches)
        for door in doors:
            with contextlib.suppress(Exception):  # another Triton: this door is not there
                door()

    # Turning.

    def _doors_of_options(self) -> None:
        from triton.backends import backends

        for name, backend in backends.items():
            kind: Any = backend.compiler
            if "parse_options" in vars(kind):
                self.patches.wrap(kind, "parse_options", self._parse_options)
            if name == "nvidia" and self.knobs.get("ptxas") == "0" and not _has_ptx_options(kind):
                self._setenv("DISABLE_PTXAS_OPT", "1")

    def _parse_options(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def parse_options(backend: Any, opts: Any, *args: Any, **kwargs: Any) -> Any:
            options = original(backend, opts, *args, **kwargs)
            changes: Dict[str, Any] = {n: v for n, v in self.options.items() if getattr(options, n, v) != v}
            turned = {*changes, *self._levels(options)}
            if NO_BUFFER_OPS in self.knobs and self.buffer_ops and getattr(options, "backend_name", "") == "hip":
                turned.add(NO_BUFFER_OPS)
            if "ptxas" in turned and hasattr(options, "ptx_options"):
                rest = _LEVEL.sub("", options.ptx_options or "").strip()
                changes["ptx_options"] = ("%s -O%s" % (rest, self.knobs["ptxas"])).strip()
            if changes:
                try:
                    options = original(backend, {**opts, **changes}, *args, **kwargs)
                except Exception:  # no such option for this device: nothing was turned
                    return options
            self.pending.options.update(turned)
            return options

        return parse_options

    def _levels(self, options: Any) -> Iterator[str]:
        """The optimisation levels that these options would not give."""
        if self.knobs.get("llvm", self.plain_levels["llvm"]) != self.plain_levels["llvm"]:
            yield "llvm"
        wanted = self.knobs.get("ptxas")
        named = _LEVEL.findall(getattr(options, "ptx_options", None) or "")
        if wanted is None or wanted == (self.plain_levels["ptxas"] or (named or [_PLAIN_PTXAS])[-1]):
            return
        if hasattr(options, "ptx_options") or "0" in (wanted, self.plain_levels["ptxas"]):
            yield "ptxas"  # an older Triton knows two levels only: none, and the usual one

    def _doors_of_loops(self) -> None:
        if "num_stages" not in self.options:
            return
        import triton.language as tl

        self.patches.wrap(tl.range, "__init__", self._range)

    def _range(self, original: Callable[..., None]) -> Callable[..., None]:
        """Whatever reaches `tl.range` while a kernel is compiled: a literal, a constexpr parameter, a global."""
        wanted = self.options["num_stages"]

        def init(loop: Any, *args: Any, **kwargs: Any) -> None:
            original(loop, *args, **kwargs)
            given: Any = getattr(loop, "num_stages", None)
            value = getattr(given, "value", given)
            if value is None:  # the launch's stages are this loop's
                return
            self.pending.loops += 1
            if value != wanted:
                self.pending.turned_loops += 1
                loop.num_stages = wanted if given is value else type(given)(wanted)

        return init

    def _doors_of_products(self) -> None:
        if "int64" not in self.knobs:
            return
        import triton.language as tl

        for owner, name, value in overflow.patches(tl, self.witness):
            self.patches.set(owner, name, value)

    def _doors_of_passes(self) -> None:
        if passes.KNOB in self.knobs:
            for owner, name in passes.optional():
                self.patches.wrap(owner, name, functools.partial(self._adding, name))

    def _adding(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        left_out = self.knobs[passes.KNOB]

        def add(*args: Any, **kwargs: Any) -> Any:
            if name == left_out:
                self.pending.options.add(passes.KNOB)
                return None
            if not left_out:
                passes.tell(name)
            return original(*args, **kwargs)

        return add

    def _door_of_launches(self) -> None:
        from triton.runtime.jit import JITFunction

        self.patches.wrap(JITFunction, "run", self._run)

    def _run(self, original: Callable[..., Any]) -> Callable[..., Any]:
        serial, wide = "serial" in self.knobs, "int64" in self.knobs
        zeroed = next((name for name in (ZEROED_OUTPUTS, ZEROED_BUT) if name in self.knobs), "")

        def run(fn: Any, *args: Any, **kwargs: Any) -> Any:
            self._forget()
            if wide:
                if not self.witness.address and self.witness.prepare():
                    self._key()
                self.witness.cover((args, kwargs))
            if self.compiling:
                self._set_aside(fn)
            args, kwargs, found = arguments.turned(fn, args, kwargs, self.knobs)
            self.launched.update(found)
            for name, value in self.options.items():
                # An option of the launch may be a parameter of the kernel, too: both follow.
                if kwargs.get(name) is not None and kwargs[name] != value:
                    kwargs[name] = value
                    self.pending.options.add(name)
                    if name in getattr(fn, "arg_names", ()):
                        self.pending.parameters.add(name)
            if zeroed and not kwargs.get("warmup") and getattr(fn, "__name__", "") != self.knobs[zeroed]:
                kernel = original(fn, *args, **{**kwargs, "warmup": True})
                self.launched[zeroed] += 1
                touched = touched_arguments(kernel, {**dict(zip(fn.arg_names, args)), **kwargs})
                for value in touched.written if touched is not None else ():
                    getattr(value, "base", value).detach().zero_()
                return kernel
            if arguments.OTHER_NUMBERS in self.knobs:
                return self._unless_refused(original, fn, args, kwargs)
            if not serial or kwargs.get("warmup"):
                return original(fn, *args, **kwargs)
            _wait()
            kernel = original(fn, *args, **kwargs)
            _wait()
            return kernel

        return run

    def _unless_refused(self, original: Callable[..., Any], fn: Any, args: Any, kwargs: Any) -> Any:
        """A launch; of one that is refused it is counted whether other numbers are refused in other words, or not."""
        try:
            return original(fn, *args, **kwargs)
        except Exception as error:
            compiled, launched = len(self.log.compiles), len(self.log.launches)
            others = arguments.otherwise(fn, args, kwargs, self.knobs[arguments.OTHER_NUMBERS].split(","))
            alike = others is not None and all(self._is_refused(original, fn, each, error) for each in others)
            self.launched[arguments.OTHER_NUMBERS] += not alike
            del self.log.compiles[compiled:], self.log.launches[launched:]
            raise

    def _is_refused(self, original: Callable[..., Any], fn: Any, given: Any, error: Exception) -> bool:
        """Whether a launch with these arguments is refused as another one was."""
        args, kwargs = given
        try:
            original(fn, *args, **{**kwargs, "warmup": True})
        except Exception as other:
            return (type(other), str(other)) == (type(error), str(error))
        return False

    def _set_aside(self, fn: Any) -> None:
        """Let a function start without the kernels that it holds in memory: they were compiled before the turning."""
        if id(fn) in self.seen:
            return
        self.seen[id(fn)] = fn
        for name in ("device_caches", "cache"):  # from 3.3 on, before
            held = fn.__dict__.get(name)
            if hasattr(held, "default_factory"):
                self.patches.set(fn, name, type(held)(held.default_factory))

    def _door_of_interpreter(self, interpreter: Any) -> None:
        if "interpreter" in self.knobs:
            loopbounds.mend()
        if hasattr(interpreter, "GridExecutor"):
            self.patches.wrap(interpreter.GridExecutor, "__call__", self._interpreted)
        for owner, name, zeroed in zeroed_stores.patches(interpreter) if ZEROED_OUTPUTS in self.knobs else ():
            self.patches.wrap(owner, name, zeroed)

    def _interpreted(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(grid: Any, *args: Any, **kwargs: Any) -> Any:
            self.launched.update(("interpreter", ZEROED_OUTPUTS))
            return original(grid, *args, **kwargs)

        return call

    # Listening to the watch.

    def compiled(self, kernel: Any) -> None:
        """A kernel was compiled, or found on disk."""
        changed = self.pending.options - {"num_stages"} | self.pending.parameters
        if "num_stages" in self.options and self._stages_matter(kernel):
            changed.add("num_stages")
        self._forget()
        self.kernels[kernel.hash] = changed
        self.compiled_otherwise.update(changed)

    def failed(self) -> None:
        """No kernel, so nobody can tell whether it would have come out otherwise: what was asked for was otherwise."""
        changed = set(self.pending.options)
        if self.pending.turned_loops:
            changed.add("num_stages")
        self._forget()
        self.compiled_otherwise.update(changed)

    def launching(self, kernel: Any) -> None:
        self.launches += 1
        self.launched.update(self.kernels.get(getattr(kernel, "hash", ""), ()))

    def _forget(self) -> None:
        self.pending.__init__()  # type: ignore[misc]

    def _stages_matter(self, kernel: Any) -> bool:
        """Whether some loop of the kernel, as the pipeliner got it, has another number of stages than untouched."""
        text = kernel.asm.get("ttir") if hasattr(kernel.asm, "get") else None
        if not isinstance(text, str):
            return bool("num_stages" in self.pending.options or self._turned_loops(kernel))
        loops, own = len(re.findall(r"\bscf\.for\b", text)), text.count("tt.num_stages")
        if own and self._turned_loops(kernel):
            return True
        return loops > own and "num_stages" in self.pending.options

    def _turned_loops(self, kernel: Any) -> int:
        """How many `tl.range` were turned for this kernel. A kernel found on disk was turned by the run that put it
        there, which left a note beside it."""
        from triton.runtime.cache import get_cache_manager

        found = self.pending.turned_loops
        with contextlib.suppress(Exception):
            cache = get_cache_manager(kernel.hash)
            if self.pending.loops:
                cache.put(str(found), _NOTE, binary=False)
                return found
            path = cache.get_file(_NOTE)
            if path is None:
                return 1  # compiled this moment by another lane, which has not left its note yet
            with open(path) as note:
                return int(note.read())
        return found


def _on(variable: str) -> bool:
    return os.environ.get(variable, "").lower() in ("1", "true", "on", "yes", "y")


def _has_ptx_options(backend: Any) -> bool:
    module = sys.modules[backend.__module__]
    return "ptx_options" in getattr(getattr(module, "CUDAOptions", None), "__dataclass_fields__", {})


def _wait() -> None:
    """Wait for the device, as a blocking launch would, and fail where it would."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    if cuda is None:
        device.sticky()
    elif cuda.is_initialized() and not cuda.is_current_stream_capturing():
        cuda.synchronize()

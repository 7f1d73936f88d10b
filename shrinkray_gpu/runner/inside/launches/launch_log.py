"""The launch log: every kernel that Triton compiles and launches while a candidate runs.

Standard library and the user's own Triton only. It wraps three doors that exist in every Triton from 3.0 to 3.9:
`triton.compile` (each compilation, also one answered by the cache on disk), `JITFunction.run` (what was asked for) and
`CompiledKernel.launch_metadata` (the last Python step before the driver: grid evaluated, kernel known). A launch is
recorded there, before it runs, so that it is on record when the process dies of it. Nothing here waits for a device.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from time import monotonic  # kept from a candidate that replaces it in the module
from typing import Any, Callable, Dict, FrozenSet, Iterator, List, Optional

from ..process import compiler_output, import_hook
from . import compilation, kernelkey, kernelline, launch_arguments

Record = Dict[str, Any]
NOT_FOLLOWED = "nobody followed it"
INTERPRETED = "interpreted"
"""In `wants`: the virtual GPU runs kernels by Triton's interpreter, where that is safe and cheap."""


class LaunchLog:
    """The compilations and launches of one candidate, as plain dicts with the fields of `run.Compilation` and
    `run.Launch`."""

    def __init__(self, wants: FrozenSet[str]) -> None:
        self.wants = wants
        self.describe: Callable[[Any], str] = launch_arguments.describe
        self.listeners: List[Any] = []
        """Told as it happens: `compiled(kernel)`, `failed()`, `launching(kernel)`; see `knobs.TurnedKnobs`."""
        self.on_writing: List[Callable[[List[Any]], None]] = []
        """Told of the tensors that a launch wrote to, where the virtual GPU has it run."""
        self.reset()

    def reset(self) -> None:
        """Forget everything; for the next candidate in the same process."""
        self.compiles: List[Record] = []
        self.launches: List[Record] = []
        self.last_kernel: Any = None
        self.awaited: Any = None
        """The kernel of a launch that was announced, until a driver gets it that says so here."""
        self.enqueued: Optional[float] = None
        """When the host got back from its last launch, by the monotonic clock. The kernel is loaded by then."""
        self._synced = 0
        self._seen: Dict[str, Record] = {}

    def install(self) -> None:
        """Make this the watch that Triton reports to. Wraps Triton only once, whoever asks: a fork server's parent
        may do it before the fork. A script that imports Triton later is watched from then on."""
        global _active
        _active = self
        kernelline.tell_truth("lines" in self.wants)
        import_hook.when_imported("triton", _wrap)

    def uninstall(self) -> None:
        """Stop listening (the wrappers stay, and cost one test each)."""
        global _active
        if _active is self:
            _active = None

    @property
    def last_launch(self) -> Optional[Record]:
        return self.launches[-1] if self.launches else None

    def queued(self, most: int) -> List[Record]:
        """The last launches since the host waited for the device."""
        return self.launches[max(self._synced, len(self.launches) - most) :]

    def ttir_key(self, hash: str) -> str:
        """As in `run.Compilation`, of a kernel that was compiled; empty where nobody saw that."""
        return str(self._seen[hash]["ttir_key"]) if hash in self._seen else ""

    def wrote(self, tensors: List[Any]) -> None:
        """The launch under way was run, and wrote to these."""
        for tell in self.on_writing:
            tell(tensors)

    def sync(self) -> None:
        """The host waited for the device: all launches so far have come to their end."""
        for launch in self.launches[self._synced :]:
            launch["synced"] = True
        self._synced = len(self.launches)

    def compiled(self, name: str, kernel: Any, options: Record) -> None:
        if kernel.hash not in self._seen:  # reading IR again and again is what would make a long script slow
            self._seen[kernel.hash] = compilation.of_kernel(kernel, self.wants)
        told = {**self._seen[kernel.hash], "generated": compilation.is_generated(kernel.src)}
        self._compilation(name, options, hash=kernel.hash, **told)
        for listener in self.listeners:
            listener.compiled(kernel)

    def failed(self, src: Any, name: str, error: BaseException, options: Record, text: str) -> None:
        code = getattr(getattr(getattr(src, "fn", None), "fn", None), "__code__", None)
        told = {"file": getattr(code, "co_filename", ""), "generated": compilation.is_generated(src)}
        self._compilation(name, options, failure=compilation.failure(error), printed=text, **told)
        for listener in self.listeners:
            listener.failed()

    def _compilation(self, name: str, options: Record, **told: Any) -> None:
        nothing: Record = {
            "hash": "",
            "ttir_key": "",
            "casts": [],
            "failure": None,
            "printed": "",
            "ir": {},
            "call": {},
            "file": "",
            "generated": False,
            "shared": 0,
        }
        self.compiles.append({"kernel": name, "options": options, **nothing, **told})

    def launching(self, kernel: Any, grid: Any, args: Any) -> None:
        self.last_kernel = self.awaited = kernel
        name = getattr(kernel, "name", "") or getattr(getattr(kernel, "metadata", None), "name", "")
        self.launches.append(
            {
                "kernel": name,
                "hash": getattr(kernel, "hash", ""),
                "grid": tuple(int(g) for g in grid),
                "args": tuple(self.describe(a) for a in args),
                "synced": False,
                "failure": "",
                "fault": "",
                "undecided": "",
                "causes": [],
                "unfollowed": NOT_FOLLOWED,
                "accesses": 0,
                "silent": [],
                "unordered": NOT_FOLLOWED,
                "interpreted": False,
                "guessed": False,
                "evaluating": 0.0,
                "host": host_line() if "lines" in self.wants else "",
                "generated": compilation.is_generated(getattr(kernel, "src", None)),
            }
        )
        for listener in self.listeners:
            listener.launching(kernel)


_active: Optional[LaunchLog] = None
_wrapped = False
_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def host_line() -> str:
    """`file.py:12` of the line that is run: the innermost one that is neither Triton's, torch's, generated nor ours."""
    frame: Any = sys._getframe(1)
    libraries = [sys.modules[name] for name in ("triton", "torch") if name in sys.modules]
    own = (_OURS, "<", *(os.path.dirname(str(each.__file__)) + os.sep for each in libraries))
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(own) and not compilation.is_generated_in(frame.f_globals):
            return "%s:%d" % (os.path.basename(file), frame.f_lineno)
        frame = frame.f_back
    return ""


def _wrap() -> None:
    global _wrapped
    if _wrapped:
        return
    try:
        import triton
        import triton.compiler
        from triton.runtime.jit import JITFunction
    except ImportError:
        return
    _wrapped = True
    kernelline.fix()
    kernelkey.complete()
    compiler = sys.modules["triton.compiler.compiler"]
    wrapped = _watched_compile(compiler.compile)
    doors: List[Any] = [compiler, triton.compiler, triton]
    for module in doors:
        module.compile = wrapped
    jit: Any = JITFunction
    jit.run = _watched_run(jit.run)
    kernel: Any = compiler.CompiledKernel
    if hasattr(kernel, "launch_metadata"):
        kernel.launch_metadata = _watched_launch(kernel.launch_metadata)


def _watched_compile(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def compile(src: Any, *args: Any, **kwargs: Any) -> Any:
        watch = _active
        if watch is None:
            return original(src, *args, **kwargs)
        name = getattr(src, "name", None) or getattr(getattr(src, "fn", None), "__name__", None)
        name = name or os.path.basename(str(src))  # a file of IR
        options = compilation.options(kwargs.get("options") or (args[1] if len(args) > 1 else None))
        said = compiler_output.CapturedOutput()
        try:
            with said, _listening_from_ir_on(src):
                kernel = original(src, *args, **kwargs)
        except BaseException as error:
            watch.failed(src, name, error, options, kernelline.with_true_lines(src, said.text))
            raise
        watch.compiled(kernel.metadata.name if hasattr(kernel.metadata, "name") else name, kernel, options)
        return kernel

    return compile


@contextlib.contextmanager
def _listening_from_ir_on(src: Any) -> Iterator[None]:
    """A kernel's IR is made only where the cache has none: what is printed before that, a compiler did not print."""
    make = getattr(src, "make_ir", None)
    if make is None:  # the path of an IR file
        compiler_output.begin()
        yield
        return

    def make_ir(*args: Any, **kwargs: Any) -> Any:
        compiler_output.begin()
        return make(*args, **kwargs)

    src.make_ir = make_ir
    try:
        yield
    finally:
        del src.make_ir


def _watched_launch(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def launch_metadata(self: Any, grid: Any, stream: Any, *args: Any) -> Any:
        if _active is not None:
            _active.launching(self, grid, args)
        return original(self, grid, stream, *args)

    return launch_metadata


def _watched_run(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def run(self: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        watch = _active
        if watch is None or warmup:
            return original(self, *args, grid=grid, warmup=warmup, **kwargs)
        before = len(watch.launches)
        try:
            kernel = original(self, *args, grid=grid, warmup=warmup, **kwargs)
        except Exception as error:
            if len(watch.launches) > before:
                watch.launches[-1]["failure"] = "%s: %s" % (compilation.qualified_name(type(error)), error)
            raise
        if len(watch.launches) == before and hasattr(kernel, "hash") and not callable(grid):
            watch.launching(kernel, grid, args)  # a Triton whose run no longer passes by launch_metadata
        watch.enqueued = monotonic()
        return kernel

    return run

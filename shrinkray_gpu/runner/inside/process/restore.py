"""What one candidate may leave behind in a process, put back before the next. What cannot be put back retires the lane.

Only contexts on a GPU are reused (a fresh one costs 0.4 s of the whole device); without a GPU each candidate gets a
fork of its own and nothing has to be restored.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` takes 20 times as long
import gc
import os
import random
import signal
import sys
import threading
import types
import warnings
from collections.abc import Callable
from typing import Any

_SHOWN = (
    *("Umask", "Uid", "Gid", "Groups", "CapEff", "NoNewPrivs", "Seccomp", "Seccomp_filters"),
    *("Cpus_allowed", "Mems_allowed"),
)
"""Lines of /proc/self/status."""
WATCHED = (
    *("torch", "triton", "numpy", "builtins", "os", "sys", "random", "math", "time", "inspect"),
    *("json", "select", "signal", "socket", "struct"),  # by which a candidate is reported on
)
"""Packages whose functions and classes a candidate might patch."""
LOOKED_INTO = ("torch", "triton.runtime.jit", "triton.runtime.autotuner", "json.decoder", "json.encoder", "socket")
"""Modules whose classes' members it might patch, too."""


class Baseline:
    """The state of a process that has seen no candidate yet."""

    def __init__(self) -> None:
        self.environment = dict(os.environ)
        self.folder = os.getcwd()
        self.path = list(sys.path)
        self.modules = set(sys.modules)
        self.streams = (sys.stdin, sys.stdout, sys.stderr, sys.excepthook, sys.displayhook)
        self.filters = list(warnings.filters)
        self.handlers = {number: _signal.getsignal(number) for number in signal.valid_signals()}
        self.blocked = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        self.random = random.getstate()
        self.recursion = sys.getrecursionlimit()
        self.collector = (gc.isenabled(), gc.get_threshold())
        self.kernel = _kernel_state()
        self.undo = [undo for undo in (_torch(), _triton(), _numpy()) if undo is not None]
        self.patched = _callables()
        gc.collect()
        gc.freeze()  # so that the collection between two candidates walks only what the candidate made

    def restore(self) -> str:
        """Put everything back. What cannot be is named: then the lane must end."""
        if len(threading.enumerate()) > 1:
            return "a thread goes on"
        main = sys.modules.get("__main__")
        if isinstance(main, types.ModuleType):
            main.__dict__.clear()
        os.environ.clear()
        os.environ.update(self.environment)
        os.chdir(self.folder)
        sys.path[:] = self.path
        for name in set(sys.modules) - self.modules:
            if name.split(".")[0] not in WATCHED:  # those of torch and Triton cannot be imported twice
                del sys.modules[name]
        sys.stdin, sys.stdout, sys.stderr, sys.excepthook, sys.displayhook = self.streams
        try:
            for stream in self.streams[1:3]:
                stream.flush()
        except (OSError, ValueError):
            return "a stream is broken"
        warnings.filters[:] = self.filters  # type: ignore[index]
        for number, handler in self.handlers.items():
            if handler is not None and _signal.getsignal(number) is not handler:
                signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, self.blocked)
        for timer in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):
            signal.setitimer(timer, 0.0)
        random.setstate(self.random)
        sys.setrecursionlimit(self.recursion)
        sys.settrace(None)
        sys.setprofile(None)
        enabled, threshold = self.collector
        gc.set_threshold(*threshold)
        (gc.enable if enabled else gc.disable)()
        gc.collect()
        for undo in self.undo:
            left = undo()
            if left:
                return left
        return _changed_state(self.kernel) or _changed(self.patched)


def _callables() -> list[tuple[str, Any, dict[str, object]]]:
    """Every watched module, and the classes of some, each with its name and what may be called on it."""
    found: list[tuple[str, Any, dict[str, object]]] = []
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] in WATCHED and isinstance(module, types.ModuleType):
            members = {key: value for key, value in list(vars(module).items()) if callable(value)}
            found.append((name, module, members))
            if name in LOOKED_INTO:
                kinds = [(key, value) for key, value in members.items() if isinstance(value, type)]
                found += [(f"{name}.{key}", kind, dict(vars(kind))) for key, kind in kinds]
    return found


def _changed(before: list[tuple[str, Any, dict[str, object]]]) -> str:
    for name, holder, members in before:
        if isinstance(holder, types.ModuleType) and sys.modules.get(name) is not holder:
            return f"{name} was replaced"
        now = vars(holder)
        for key, value in members.items():
            if now.get(key) is not value:
                return f"{name}.{key} was replaced"
    return ""


def _torch() -> Callable[[], str] | None:
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    dtype, device = torch.get_default_dtype(), torch.get_default_device()
    seed, threads = torch.get_rng_state(), torch.get_num_threads()
    flags = _flags(torch)
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None
    held = torch.cuda.memory_allocated() if cuda else 0
    free = torch.cuda.mem_get_info()[0] if cuda else 0
    forget_workspaces = getattr(torch._C, "_cuda_clearCublasWorkspaces", None)

    def undo() -> str:
        torch.set_default_dtype(dtype)
        if torch.get_default_device() != device:
            torch.set_default_device(None)
        torch.set_rng_state(seed)
        torch.set_num_threads(threads)
        torch.set_grad_enabled(True)
        if cuda:
            torch.cuda.set_rng_state_all(cuda)
            if forget_workspaces is not None:  # a product of matrices leaves cuBLAS some memory for the next
                forget_workspaces()
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
            if torch.cuda.memory_allocated() > held:
                return "device memory is still held"
            if torch.cuda.mem_get_info()[0] < free // 2:  # by the driver, where torch's allocator sees nothing
                return "half of the device's memory is gone"
            if torch.cuda.current_stream() != torch.cuda.default_stream():
                return "another stream is current"
        return "" if _flags(torch) == flags else "a global switch of torch was turned"

    return undo


def _flags(torch: Any) -> tuple[object, ...]:
    """Global switches that change what torch computes."""
    return (
        torch.are_deterministic_algorithms_enabled(),
        torch.backends.cuda.matmul.allow_tf32,
        torch.backends.cudnn.allow_tf32,
        torch.backends.cudnn.deterministic,
        torch.backends.cudnn.benchmark,
        torch.get_float32_matmul_precision(),
        torch.is_anomaly_enabled(),
        torch.is_inference_mode_enabled(),
    )


def _triton() -> Callable[[], str] | None:
    allocation = sys.modules.get("triton.runtime._allocation")
    slot = getattr(allocation, "_allocator", None)
    if slot is None:
        return None
    held = slot.get() if hasattr(slot, "get") else slot
    driver = sys.modules["triton.runtime"].driver
    active = getattr(driver, "_active", None) or getattr(driver, "active", None)
    forget_settings = _knobs()

    def undo() -> str:
        forget_settings()
        # A cold run has no allocator; one that stays would let every "drop set_allocator" succeed here and fail there.
        if hasattr(slot, "set"):
            slot.set(held)
        else:
            setattr(allocation, "_allocator", held)  # noqa: B010 (the name that is there up to Triton 3.5)
        same = active is (getattr(driver, "_active", None) or getattr(driver, "active", None))
        return "" if same else "Triton's driver was replaced"

    return undo


def _knobs() -> Callable[[], None]:
    """What was set by `triton.knobs.x.y = v` (from Triton 3.4 on): it is kept in the object, and comes before what the
    environment says. A hook may also have been added to a list that is there already."""
    module = sys.modules.get("triton.knobs")
    kind: Any = getattr(module, "base_knobs", ())
    groups = [each for each in vars(module).values() if isinstance(each, kind)] if module is not None else []
    lists = [getattr(each, "calls", None) for group in groups for each in vars(type(group)).values()]
    settings = [(vars(group), dict(vars(group))) for group in groups]
    hooks = [(calls, list(calls)) for calls in lists if isinstance(calls, list)]

    def undo() -> None:
        for values, before in settings:
            values.clear()
            values.update(before)
        for calls, held in hooks:
            calls[:] = held

    return undo


def _numpy() -> Callable[[], str] | None:
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return None
    state = numpy.random.get_state()

    def undo() -> str:
        numpy.random.set_state(state)
        return ""

    return undo


def _kernel_state() -> dict[str, str]:
    """What the kernel keeps of a process, and one candidate may change for the next: its limits, its user, its
    priority. By names that a user understands."""
    found = {"Priority": str(os.getpriority(os.PRIO_PROCESS, 0))}
    with open("/proc/self/status") as told:
        found.update({line.partition(":")[0]: line for line in told if line.startswith(_SHOWN)})
    with open("/proc/self/limits") as told:
        found["Limits"] = told.read()
    return found


def _changed_state(before: dict[str, str]) -> str:
    """Which of them is another now; empty where none is."""
    try:
        now = _kernel_state()
    except OSError as error:  # no file can be opened any more
        return f"the process cannot tell its state: {error.strerror}"
    return next((f"{name} of the process was changed" for name in before if now.get(name) != before[name]), "")

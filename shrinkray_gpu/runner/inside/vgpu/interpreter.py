"""One launch, by Triton's own interpreter, in a fork.

There the interpreter may patch `triton.language` for good, as most releases do, and take pointers at their word. The
fork sends back what is in memory afterwards, and ends.
"""

from __future__ import annotations

import gc
import os
import pickle
import resource
import select
import signal
import sys
from dataclasses import dataclass
from os import _exit, close, fork, kill, pipe, read, wait4  # as they are before a candidate replaces them
from time import monotonic
from types import ModuleType
from typing import Any, Dict, List, Optional, Sequence, Tuple

import torch

from ..compare.bounds import Bounds
from ..launches import loopbounds
from ..process.patches import Patches
from . import libdevice

tl: Any = None
"""`triton.language`, in the fork: where the interpreter looks for it."""
PATIENCE = 10
"""Seconds by the clock for each of processor time: the machine may have other work."""
NOBODYS = 0xA5
"""In each byte of a storage that nobody knows, before the kernel writes there."""


@dataclass(frozen=True)
class Told:
    """What each of the tensors' storages holds afterwards; None where the interpreter did not get to the end. The
    `seconds` of processor time that it took."""

    contents: Optional[List[bytes]]
    seconds: float


def outputs(
    kernel: Any,
    arguments: Dict[str, Any],
    grid: Tuple[int, int, int],
    written: Sequence[Any],
    blank: Sequence[Any],
    seconds: float,
    *,
    watched: bool = False,
) -> Told:
    """Run a JIT function of Triton's on tensors of the CPU, which stay as they are. `written`: those of whose storages
    the contents are wanted. `blank`: those that are filled with NOBODYS first. `seconds`: of processor time. `watched`:
    nothing is told of a launch that leaves its tensors, or reads what nobody wrote."""
    reading, writing = pipe()
    process = fork()
    if not process:
        close(reading)
        _child(writing, kernel, arguments, grid, written, blank, seconds, Bounds(nobodys=NOBODYS) if watched else None)
    close(writing)
    try:
        sent = _received(reading, monotonic() + PATIENCE * seconds)
    finally:
        close(reading)
        kill(process, signal.SIGKILL)  # that has ended, or takes too long
        usage = wait4(process, 0)[2]
    try:
        contents = pickle.loads(sent)
    except Exception:  # nothing, or half of it
        contents = None
    return Told(contents, usage.ru_utime + usage.ru_stime)


def as_bytes(tensor: Any) -> Any:
    """The whole storage of a tensor."""
    storage = tensor.untyped_storage()
    return torch.empty(0, dtype=torch.uint8).set_(storage, 0, (storage.nbytes(),), (1,))


def _received(fd: int, until: float) -> bytes:
    parts: List[bytes] = []
    while select.select([fd], [], [], max(0.0, until - monotonic()))[0]:
        part = read(fd, 1 << 20)
        if not part:
            break
        parts.append(part)
    return b"".join(parts)


def _child(
    fd: int,
    kernel: Any,
    arguments: Dict[str, Any],
    grid: Any,
    written: Any,
    blank: Any,
    seconds: float,
    bounds: Optional[Bounds],
) -> None:
    try:
        gc.disable()  # see warm_up
        torch.set_num_threads(1)  # threads are not forked, and whoever shares out work waits for them
        signal.signal(signal.SIGXCPU, signal.SIG_DFL)
        most = max(1, round(seconds))
        resource.setrlimit(resource.RLIMIT_CPU, (most, most))
        sys.stdout = sys.stderr = open(os.devnull, "w")
        own = _Own()
        for tensor in blank:
            as_bytes(own.copy(tensor)).fill_(NOBODYS)
        taken = {
            name: own.copy(value) if isinstance(value, torch.Tensor) else value for name, value in arguments.items()
        }
        turned = _interpreted(kernel)
        if not _works():
            return
        if bounds is not None:
            bounds.install(sys.modules["triton.runtime.interpreter"], Patches().wrap)
        turned[grid](**taken)
        if bounds is not None and (bounds.left or not bounds.ranges):
            return
        sent = pickle.dumps([as_bytes(own.copy(tensor)).numpy().tobytes() for tensor in written])
        with os.fdopen(fd, "wb") as stream:
            stream.write(sent)
    finally:
        _exit(0)


class _Own:
    """Copies of tensors, which share their storages as the tensors do: large ones are shared with the parent."""

    def __init__(self) -> None:
        self._storages: Dict[int, Any] = {}

    def copy(self, tensor: Any) -> Any:
        """The same copy for the same storage, seen as this tensor sees it."""
        key = tensor.untyped_storage()._cdata
        if key not in self._storages:
            self._storages[key] = tensor.untyped_storage().clone()
        whole = torch.empty(0, dtype=tensor.dtype)
        return whole.set_(self._storages[key], tensor.storage_offset(), tensor.shape, tensor.stride())


def _interpreted(kernel: Any) -> Any:
    """The kernel as the interpreter takes it, and so all that it may call: here nothing is compiled any more."""
    from triton.runtime.interpreter import InterpretedFunction
    from triton.runtime.jit import JITFunction

    loopbounds.mend()
    os.environ["TRITON_INTERPRET"] = "1"
    knobs: Any = getattr(sys.modules["triton"], "knobs", None)
    if knobs is not None:
        knobs.runtime.interpret = True
    _type_floats()
    libdevice.replace()
    made: Dict[int, Any] = {}
    seen: Dict[int, Any] = {}

    def of(function: Any) -> Any:
        if id(function) not in made:
            made[id(function)] = InterpretedFunction(function.fn)
            turn(function.fn.__globals__)
        return made[id(function)]

    def turn(space: Dict[str, Any]) -> None:
        if id(space) in seen:
            return
        seen[id(space)] = space
        for name, value in list(space.items()):
            if isinstance(value, JITFunction):
                space[name] = of(value)
            elif isinstance(value, ModuleType) and _has(value, JITFunction):
                turn(vars(value))
            else:
                other = libdevice.stand_in(value)
                if other is not None:
                    space[name] = other

    language: Any = sys.modules["triton.language"]
    for name, value in list(vars(language.tensor).items()):
        if isinstance(value, JITFunction):
            setattr(language.tensor, name, _method(of(value)))
    turned = of(kernel)
    space = kernel.fn.__globals__
    if not any(value is language or value is language.core for value in list(space.values())):
        space["triton_language"] = language  # where the interpreter looks for what to patch
    return turned


def _type_floats() -> None:
    """Make a float argument a scalar of 32 bits, as it is in compiled code. The interpreter leaves Python's there: that
    has no `.to`, and takes the type of what it meets."""
    module: Any = sys.modules["triton.runtime.interpreter"]
    language: Any = sys.modules["triton.language"]
    whole, handle, numpy, float32 = module._implicit_cvt, module.TensorHandle, module.np, language.float32

    def typed(arg: Any) -> Any:
        if isinstance(arg, float):
            return language.tensor(handle(numpy.array([arg], dtype=numpy.float32), float32), float32)
        return whole(arg)

    module._implicit_cvt = typed


def _works() -> bool:
    """Whether the interpreter writes what it should: with a NumPy that is too new for it, Triton 3.0's does not."""
    from triton.runtime.interpreter import InterpretedFunction

    globals()["tl"] = sys.modules["triton.language"]
    out = torch.zeros(4, dtype=torch.int32)
    InterpretedFunction(_probe)[(2,)](out)
    return bool(out.tolist() == [7, 0, 8, 10])


def _probe(out: Any) -> None:
    i = tl.arange(0, 4)
    before = tl.load(out + i, mask=i > 1, other=5)
    tl.atomic_add(out + 2, 4)
    tl.store(out + i, before + i + 2, mask=i != 1)


def _has(module: ModuleType, kind: type) -> bool:
    return any(isinstance(value, kind) for value in list(vars(module).values()))


def _method(function: Any) -> Any:
    return lambda self, *args, **kwargs: function(self, *args, **kwargs)

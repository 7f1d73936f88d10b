"""The two torch modes of one thread, which make its tensors the virtual GPU's."""

from __future__ import annotations

import contextlib
import threading
from typing import Any, Iterator, List, Optional

import torch
from torch.utils._python_dispatch import _disable_current_modes

from .dispatch import DeviceDispatch, DeviceRequest
from .function import DeviceFunctions
from .gpu import Gpu

_here = threading.local()


@contextlib.contextmanager
def modes(gpu: Gpu) -> Iterator[DeviceFunctions]:
    """On for the calling thread; torch keeps modes per thread."""
    want = DeviceRequest()
    functions, dispatch = DeviceFunctions(gpu, want), DeviceDispatch(gpu, want)
    before = getattr(_here, "modes", None)
    _here.modes = (functions, dispatch)
    try:
        with dispatch, functions:
            yield functions
    finally:
        _here.modes = before


def current() -> Optional[DeviceFunctions]:
    """The calling thread's function mode, be it switched on just now or not."""
    here = getattr(_here, "modes", None)
    return here[0] if here else None


def functions_again() -> Any:
    """The calling thread's function mode, to switch on once more where torch has switched it off."""
    return current() or contextlib.nullcontext()


@contextlib.contextmanager
def both_again() -> Iterator[None]:
    """Both modes of the calling thread, within the handler of the one below: there, user code is being run. What the
    call around it asked for (a device) is not what that code asks for."""
    here = getattr(_here, "modes", None)
    if here is None or any(mode is here[1] for mode in _on()):
        yield
        return
    functions, dispatch = here
    want = functions.want
    asked, want.device, want.beside = (want.device, want.beside), None, None
    try:
        with torch._C._EnableTorchFunction(), dispatch, functions:
            yield
    finally:
        want.device, want.beside = asked


@contextlib.contextmanager
def neither() -> Iterator[None]:
    """Neither mode of the calling thread, and no other dispatch mode."""
    stack = [torch._C._pop_torch_function_stack() for _ in range(torch._C._len_torch_function_stack())][::-1]
    _push([mode for mode in stack if not isinstance(mode, DeviceFunctions)])
    try:
        with _disable_current_modes():
            yield
    finally:
        while torch._C._len_torch_function_stack():
            torch._C._pop_torch_function_stack()
        _push(stack)


def _push(functions: List[Any]) -> None:
    for mode in functions:
        torch._C._push_on_torch_function_stack(mode)


def _on() -> List[Any]:
    """The dispatch modes that are on, the innermost last."""
    return [torch._C._get_dispatch_stack_at(i) for i in range(torch._C._len_torch_dispatch_stack())]

"""The two torch modes of one thread, which make its tensors the virtual GPU's."""

from __future__ import annotations

import contextlib
import threading
from typing import Any, Iterator

from .dispatch import DeviceDispatch, Want
from .function import DeviceFunctions
from .gpu import Gpu

_here = threading.local()


@contextlib.contextmanager
def modes(gpu: Gpu) -> Iterator[DeviceFunctions]:
    """On for the calling thread; torch keeps modes per thread."""
    want = Want()
    functions = DeviceFunctions(gpu, want)
    before = getattr(_here, "functions", None)
    _here.functions = functions
    try:
        with DeviceDispatch(gpu, want), functions:
            yield functions
    finally:
        _here.functions = before


def functions_again() -> Any:
    """The calling thread's function mode, to switch on once more where torch has switched it off."""
    return getattr(_here, "functions", None) or contextlib.nullcontext()

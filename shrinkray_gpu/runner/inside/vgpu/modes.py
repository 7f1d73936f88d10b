"""The two torch modes of one thread, which make its tensors the virtual GPU's."""

from __future__ import annotations

import contextlib
from typing import Iterator

from .dispatch import DeviceDispatch, Want
from .function import DeviceFunctions
from .gpu import Gpu


@contextlib.contextmanager
def modes(gpu: Gpu) -> Iterator[DeviceFunctions]:
    """On for the calling thread; torch keeps modes per thread."""
    want = Want()
    functions = DeviceFunctions(gpu, want)
    with DeviceDispatch(gpu, want), functions:
        yield functions

"""Inductor's generated code on the virtual GPU: what it asks of the machine before it compiles and launches.

Such code is a program of its own (people keep what TORCH_COMPILE_DEBUG writes). `torch.compile` itself does not run
here: it traces tensors on the level of C++, where claims do not reach.
"""

from __future__ import annotations

import contextlib
from typing import Any, Callable

from ..process.patches import Patches
from .gpu import Gpu

_KEPT = ("current_device", "set_device", "device_count", "current_stream", "set_stream", "synchronize")


def patch(patches: Patches, gpu: Gpu) -> None:
    # The driver is ours; this would put the real one in its place.
    undriven = lambda module: patches.answer(module, "set_driver_to_gpu", lambda: None)  # noqa: E731
    patches.on_import("torch._inductor.runtime.triton_helpers", undriven)
    patches.on_import("torch._dynamo.device_interface", lambda module: _interface(patches, module))
    patches.on_import("torch._inductor.runtime.benchmarking", lambda module: _benchmarks(patches, gpu, module))


def _interface(patches: Patches, module: Any) -> None:
    """It took torch.cuda's functions for itself when it was imported, in the fork server's parent."""
    import torch

    patches.set(module, "DeviceGuard", lambda *args: contextlib.nullcontext())
    interface: Any = getattr(module, "CudaInterface", None)
    for name in _KEPT:
        if interface is not None and name in vars(interface):
            patches.set(interface, name, staticmethod(getattr(torch.cuda, name)))
    if interface is not None:
        patches.set(interface, "get_raw_stream", staticmethod(lambda *args: 0))


def _benchmarks(patches: Patches, gpu: Gpu, module: Any) -> None:
    """One run instead of many, and every run takes 1 ms, as in Triton's own autotuner here."""

    def benchmark(self: Any, fn: Callable[..., Any], fn_args: Any = None, fn_kwargs: Any = None, **_: Any) -> float:
        fn(*(fn_args or ()), **(fn_kwargs or {}))
        gpu.wait()
        return 1.0

    for name in ("benchmark", "benchmark_gpu"):
        for owner in vars(module).values():
            if isinstance(owner, type) and name in vars(owner):
                patches.set(owner, name, benchmark)

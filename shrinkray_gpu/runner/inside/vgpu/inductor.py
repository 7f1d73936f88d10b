"""Inductor's generated code on the virtual GPU: what it asks of the machine before it compiles and launches.

torch.compile makes such code (`compiled`), and it is a program of its own, too: people keep what TORCH_COMPILE_DEBUG
writes.
"""

from __future__ import annotations

import contextlib
import functools
from typing import Any, Callable, Dict

import torch

from ..process.patches import Patches
from .gpu import Gpu
from .modes import both_again

_KEPT = ("current_device", "set_device", "device_count", "current_stream", "set_stream", "synchronize")
SETTINGS: Dict[str, Any] = {
    "compile_threads": 1,  # a worker has no virtual GPU
    "force_disable_caches": True,  # what is cached was not compiled here
    "shape_padding": False,  # it is decided by what is measured, and everything takes as long
    "triton.cudagraphs": False,
    "use_static_cuda_launcher": False,  # takes machine code alone, past Triton's driver
    "use_static_triton_launcher": False,
}
"""Settings of Inductor's, as far as the torch at hand has them."""


def patch(patches: Patches, gpu: Gpu) -> None:
    # The driver is ours; this would put the real one in its place.
    undriven = lambda module: patches.answer(module, "set_driver_to_gpu", lambda: None)  # noqa: E731
    patches.on_import("torch._inductor.runtime.triton_helpers", undriven)
    patches.on_import("torch._dynamo.device_interface", lambda module: _interface(patches, module))
    patches.on_import("torch._inductor.config", lambda module: _settle(patches, module))
    patches.on_import("torch._inductor.runtime.benchmarking", lambda module: _benchmarks(patches, gpu, module))
    patches.on_import("torch._inductor.runtime.triton_heuristics", lambda module: _launches(patches, gpu, module))
    dynamo: Any = torch._C._dynamo
    patches.set(dynamo.guards, "_empty_strided_cuda", _empty_strided)
    patches.set(torch._C, "_cuda_getCurrentRawStream", lambda *args: 0)


def _empty_strided(size: Any, stride: Any, dtype: Any) -> Any:
    with both_again():
        return torch.empty_strided(size, stride, dtype=dtype, device="cuda")


def _interface(patches: Patches, module: Any) -> None:
    """It took torch.cuda's functions for itself when it was imported, in the fork server's parent."""
    patches.set(module, "DeviceGuard", lambda *args: contextlib.nullcontext())
    interface: Any = getattr(module, "CudaInterface", None)
    for name in _KEPT:
        if interface is not None and name in vars(interface):
            patches.set(interface, name, staticmethod(getattr(torch.cuda, name)))
    if interface is not None:
        patches.set(interface, "get_raw_stream", staticmethod(lambda *args: 0))


def _settle(patches: Patches, config: Any) -> None:
    for place, value in SETTINGS.items():
        *path, leaf = place.split(".")
        owner: Any = functools.reduce(getattr, path, config)
        if hasattr(owner, leaf):
            patches.set(owner, leaf, value)


def _benchmarks(patches: Patches, gpu: Gpu, module: Any) -> None:
    """One run instead of many, and every run takes 1 ms, as in Triton's own autotuner here."""

    def benchmark(self: Any, fn: Callable[..., Any], fn_args: Any = None, fn_kwargs: Any = None, **_: Any) -> float:
        before, gpu.tuning = gpu.tuning, True
        try:
            with both_again():
                fn(*(fn_args or ()), **(fn_kwargs or {}))
        finally:
            gpu.tuning = before
        gpu.wait()
        return 1.0

    for name in ("benchmark", "benchmark_gpu"):
        for owner in vars(module).values():
            if isinstance(owner, type) and name in vars(owner):
                patches.set(owner, name, benchmark)


def _launches(patches: Patches, gpu: Gpu, heuristics: Any) -> None:
    """Inductor launches past the last step that the log hears of: `runner` is what its launchers call."""
    result: Any = getattr(heuristics, "TritonCompileResult", None)  # since torch 2.7
    if result is None:
        return

    def logged(original: Callable[..., Any]) -> Callable[..., Any]:
        def make_launcher(self: Any) -> Any:
            launcher = original(self)
            scope: Dict[str, Any] = launcher.__globals__
            runner, kernel = scope["runner"], self.kernel

            def run(x: int, y: int, z: int, *rest: Any) -> Any:
                if gpu.watch.awaited is not kernel:
                    gpu.watch.launching(kernel, (x, y, z), rest[6:])  # after the stream, the function, hooks and such
                return runner(x, y, z, *rest)

            scope["runner"] = run
            return launcher

        return make_launcher

    patches.wrap(result, "make_launcher", logged)

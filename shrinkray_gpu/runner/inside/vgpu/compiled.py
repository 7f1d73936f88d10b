"""torch.compile on the virtual GPU: Dynamo traces, Inductor generates and compiles its kernels, and the script launches
them.

Both work below the two modes that keep up the claims, on fake tensors. So the modes are off while they do, and a fake
tensor is told where the real one claims to be. What they have made runs with both modes on, as any code of the script.
"""

from __future__ import annotations

import contextlib
import functools
import os
from typing import Any, Callable

import torch
import torch.autograd.graph
from torch.utils._python_dispatch import TorchDispatchMode

from ..process.own_bug import Limit
from ..process.patches import Patches
from . import accelerator
from .cuda import Properties
from .dispatch import DeviceDispatch
from .function import CUDA
from .gpu import Gpu
from .modes import neither

_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def patch(patches: Patches, gpu: Gpu) -> None:
    for module in (torch.autograd, torch.autograd.graph):
        if hasattr(module, "_engine_run_backward"):
            patches.wrap(module, "_engine_run_backward", functools.partial(_differentiated, gpu))
    patches.on_import("torch._dynamo", lambda module: _keep_out(patches, module))
    patches.on_import("torch._dynamo.convert_frame", lambda module: _frames(patches, gpu, module))
    patches.on_import("torch._dynamo.utils", lambda module: _constants(patches, module))
    patches.on_import("torch._dynamo.variables.streams", lambda module: _streams(patches, module))
    patches.on_import("torch._dynamo.trace_rules", lambda module: _traced(patches, module))
    patches.on_import("torch._dynamo.guards", lambda module: _guards(patches, module))
    patches.on_import("torch._subclasses.fake_tensor", lambda module: _fake_modes(patches, gpu, module))
    patches.on_import("torch._subclasses.meta_utils", lambda module: _fakes(patches, gpu, module))
    patches.on_import("torch._inductor.compile_fx", lambda module: _inductor(patches, gpu, module))


def _keep_out(patches: Patches, dynamo: Any) -> None:
    """Dynamo must trace no handler of ours."""
    patches.set(DeviceDispatch, "__torch_dispatch__", dynamo.disable(DeviceDispatch.__torch_dispatch__))


def _apart(gpu: Gpu, original: Callable[..., Any]) -> Callable[..., Any]:
    """What traces and compiles does so below the modes."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if not hasattr(TorchDispatchMode, "ignore_compile_internals"):
            raise Limit("torch.compile on the virtual GPU (--arch) needs a newer torch")
        gpu.compiling += 1
        try:
            with neither(), accelerator.cuda_in_cpp() if gpu.compiling == 1 else contextlib.nullcontext():
                return original(*args, **kwargs)
        finally:
            gpu.compiling -= 1

    return call


def _differentiated(gpu: Gpu, original: Callable[..., Any]) -> Callable[..., Any]:
    """What is traced is a gradient of fake tensors on the GPU. After an eager `backward()`, which is on the CPU, the
    engine has no thread for a GPU."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if gpu.compiling:
            accelerator.build().start_autograd()
        return original(*args, **kwargs)

    return call


def _frames(patches: Patches, gpu: Gpu, module: Any) -> None:
    patches.wrap(module.CatchErrorsWrapper, "__call__", functools.partial(_apart, gpu))
    _allocations(patches, gpu)


def _allocations(patches: Patches, gpu: Gpu) -> None:
    """Inductor computes constants, and inputs to measure with, where its graph is: on a device that has no memory."""
    library = torch.library.Library("aten", "IMPL")
    patches.on_undo(library._destroy)

    def on_cpu(make: Any) -> Callable[..., Any]:
        def allocate(*args: Any, dtype: Any = None, **_: Any) -> Any:
            made = make(*args, dtype=dtype, device="cpu")
            gpu.claims.claim(made)
            return made

        return allocate

    library.impl("empty.memory_format", on_cpu(torch.ops.aten.empty.memory_format), "CUDA")
    library.impl("empty_strided", on_cpu(torch.ops.aten.empty_strided.default), "CUDA")


def _constants(patches: Patches, module: Any) -> None:
    """What a device says of itself is one to Dynamo."""
    if hasattr(module, "common_constant_types"):
        patches.on_undo(lambda: module.common_constant_types.discard(Properties))
        module.common_constant_types.add(Properties)


def _streams(patches: Patches, module: Any) -> None:
    """Dynamo traces those of torch's own class, which C++ makes for a device that is there."""
    context: Any = getattr(module, "StreamContextVariable", None)

    def create(*args: Any, **kwargs: Any) -> Any:
        raise Limit("a CUDA stream inside of a function under torch.compile, on the virtual GPU (--arch)")

    if context is not None and "create" in vars(context):
        patches.set(context, "create", staticmethod(create))


def _traced(patches: Patches, module: Any) -> None:
    """Nothing of ours: where a graph breaks, what follows calls us with Dynamo still on the watch."""
    patches.on_undo(module._recompile_re)
    patches.set(module, "SKIP_DIRS", [*module.SKIP_DIRS, _OURS])
    module._recompile_re()


def _guards(patches: Patches, module: Any) -> None:
    """The modes that are on are ours, whenever compiled code is looked for: Dynamo saw none."""
    patches.set(module.GuardBuilder, "TORCH_FUNCTION_STATE", lambda self, guard: None)


def _fake_modes(patches: Patches, gpu: Gpu, module: Any) -> None:
    """A fake tensor on the GPU needs no context there, as on a machine without one."""
    avoiding = property(lambda self: gpu.compiling > 0, lambda self, value: None)
    patches.set(module.FakeTensorMode, "avoid_device_init", avoiding)
    if hasattr(module, "init_gpu_context"):
        patches.answer(module, "init_gpu_context", lambda device: None)


def _fakes(patches: Patches, gpu: Gpu, module: Any) -> None:
    """Those of the script's own fake modes stay on the CPU, as `dispatch` has them: C++ knows no GPU there."""

    def claimed(original: Callable[..., Any]) -> Callable[..., Any]:
        def describe_tensor(self: Any, t: Any, *args: Any, **kwargs: Any) -> Any:
            made = original(self, t, *args, **kwargs)
            if gpu.compiling and made.device.type == "cpu" and gpu.claims.device(t) == "cuda":
                object.__setattr__(made, "device", CUDA)  # it is frozen
            return made

        return describe_tensor

    patches.wrap(module.MetaTensorDescriber, "describe_tensor", claimed)


def _inductor(patches: Patches, gpu: Gpu, module: Any) -> None:
    def without_graphs(original: Callable[..., Any]) -> Callable[..., Any]:
        """CUDA graphs around compiled code (`mode="reduce-overhead"`) are Inductor's own, and made in C++."""

        def compile_fx(*args: Any, config_patches: Any = None, **kwargs: Any) -> Any:
            if config_patches and "triton.cudagraphs" in config_patches:
                config_patches = {**config_patches, "triton.cudagraphs": False}
            return original(*args, config_patches=config_patches, **kwargs)

        return compile_fx

    patches.wrap(module, "compile_fx", without_graphs)
    for name in ("compile_fx_forward", "compile_fx_backward"):  # the latter may wait for the first backward
        if hasattr(module, name):
            patches.wrap(module, name, functools.partial(_apart, gpu))

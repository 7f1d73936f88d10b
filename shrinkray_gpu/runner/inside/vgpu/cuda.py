"""What torch.cuda and torch.accelerator answer when the GPU is the virtual one."""

from __future__ import annotations

import types
from typing import Any, Callable, Dict

import torch

from ..gpu_target import GpuTarget
from ..process.patches import Patches
from . import statistics, streams
from .function import check_ordinal
from .gpu import Gpu
from .properties import card


class Properties(types.SimpleNamespace):
    """What torch.cuda.get_device_properties gives back."""


_OF_ALL = (
    "is_available device_count synchronize set_stream empty_cache memory_allocated max_memory_allocated "
    "memory_reserved max_memory_reserved memory_stats reset_peak_memory_stats reset_accumulated_memory_stats "
    "get_memory_info"
).split()
"""What torch.accelerator answers as torch.cuda does."""


def patch(patches: Patches, gpu: Gpu) -> None:
    """Answer each query by a function of its own and of the right name. Never `_is_compiled`: torch decides by it
    which C++ classes exist."""
    cuda: Any = torch.cuda
    made = streams.classes(gpu)
    for name, cls in made.items():
        if isinstance(cls, type) and hasattr(cuda, name):
            cls.__module__, cls.__qualname__ = "torch.cuda", name
            patches.set(cuda, name, cls)
    memory = statistics.answers(gpu)
    calls = {**_queries(gpu), **memory, **_random(), "set_stream": made["set"]}
    for name, call in memory.items():
        if hasattr(cuda.memory, name):
            patches.answer(cuda.memory, name, call)
    for name, call in calls.items():
        if hasattr(cuda, name):
            patches.answer(cuda, name, call)
    # Inductor and Helion kept torch's own get_device_properties; it ends here, in C++ that a build for CPUs lacks.
    patches.answer(cuda, "_get_device_properties", calls["get_device_properties"])
    patches.answer(cuda, "default_stream", lambda *a, **k: made["default"])
    patches.answer(cuda, "current_stream", lambda *a, **k: made["current"]())
    _ranges(patches)
    patches.answer(cuda, "stream", lambda s=None, *a, **k: made["StreamContext"](s))
    patches.answer(cuda, "graph_pool_handle", lambda: (0, 0))
    patches.answer(cuda, "make_graphed_callables", lambda fn, *a, **k: fn)
    say_version(patches.set, gpu.target)
    accelerator: Any = getattr(torch, "accelerator", None)  # since 2.6
    if accelerator is not None:
        answers: Dict[str, Callable[..., Any]] = {
            **{name: calls[name] for name in _OF_ALL if name in calls},
            **dict.fromkeys(("current_device_index", "current_device_idx"), lambda: 0),
            **dict.fromkeys(("set_device_index", "set_device_idx"), _nothing),
            "current_accelerator": lambda *a, **k: torch.device("cuda"),
            "current_stream": lambda *a, **k: made["current"](),
        }
        for name, call in answers.items():
            if hasattr(accelerator, name):
                patches.answer(accelerator, name, call)


def say_version(put: Callable[[Any, str, Any], None], target: GpuTarget) -> None:
    """For which runtime torch says that it was built: programs ask, many of them where they are imported."""
    put(torch.version, "cuda", None if target.is_amd else torch.version.cuda or "13.0")
    put(torch.version, "hip", (torch.version.hip or "7.0.0") if target.is_amd else None)


def _nothing(*args: Any, **kwargs: Any) -> None:
    return None


def _queries(gpu: Gpu) -> Dict[str, Callable[..., Any]]:
    c = card(gpu.arch)
    target = gpu.target
    capability = target.capability
    about = Properties(
        name=c.name,
        major=capability[0],
        minor=capability[1],
        total_memory=c.memory,
        multi_processor_count=c.processors,
        warp_size=target.warp_size,
        max_threads_per_multi_processor=c.threads,
        max_threads_per_block=1024,
        shared_memory_per_block=c.shared if target.is_amd else 49152,
        shared_memory_per_block_optin=c.shared,
        shared_memory_per_multiprocessor=c.shared + (0 if target.is_amd else 1024),
        regs_per_multiprocessor=65536,
        L2_cache_size=c.l2,
        clock_rate=1980000,
        memory_clock_rate=2619000,
        memory_bus_width=5120,
        gcnArchName=target.name + c.features if target.is_amd else "",
        is_integrated=0,
        is_multi_gpu_board=0,
        pci_bus_id=0,
        pci_device_id=0,
        pci_domain_id=0,
        uuid="0",
    )
    return {
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "set_device": check_ordinal,
        "init": _nothing,
        "_lazy_init": _nothing,
        "synchronize": lambda *a, **k: gpu.wait(),
        "get_device_properties": lambda *a, **k: about,
        "get_device_capability": lambda *a, **k: capability,
        "get_device_name": lambda *a, **k: c.name,
        "get_arch_list": lambda: [target.name],
        "is_bf16_supported": lambda *a, **k: gpu.arch >= 80,
        "is_tf32_supported": lambda *a, **k: gpu.arch >= 80 and not target.is_amd,
        "can_device_access_peer": lambda *a: False,
        "is_current_stream_capturing": lambda: gpu.capture is not None,
        "cudart": lambda: types.SimpleNamespace(cudaProfilerStart=lambda: 0, cudaProfilerStop=lambda: 0),
        "ipc_collect": _nothing,
        "utilization": lambda *a: 0,
    }


def _random() -> Dict[str, Callable[..., Any]]:
    """One generator serves host and device: torch.manual_seed seeds it anyway."""
    generator = torch.default_generator

    def seed(number: Any) -> None:
        generator.manual_seed(int(number))

    def set_state(state: Any, *args: Any) -> None:
        if state.numel() == generator.get_state().numel():
            generator.set_state(state.cpu())
        else:  # of a real GPU's generator
            seed(int.from_bytes(bytes(state[:8].tolist()), "little"))

    return {
        **dict.fromkeys(("seed", "seed_all"), lambda: generator.seed() and None),
        **dict.fromkeys(("manual_seed", "manual_seed_all"), seed),
        "set_rng_state": set_state,
        "set_rng_state_all": lambda states: set_state(states[0]),
        "get_rng_state": lambda *a: generator.get_state(),
        "get_rng_state_all": lambda: [generator.get_state()],
        "initial_seed": lambda: generator.initial_seed(),
    }


def _ranges(patches: Patches) -> None:
    """Marks for NVIDIA's profilers, which nobody runs here."""
    names = ("rangePushA", "rangePop", "rangeStartA", "markA")
    ranges = types.SimpleNamespace(**dict.fromkeys(names, lambda *a: 0))
    ranges.rangeEnd = ranges.deviceRangeStart = ranges.deviceRangeEnd = lambda *a: None
    patches.set(torch.cuda.nvtx, "_nvtx", ranges)

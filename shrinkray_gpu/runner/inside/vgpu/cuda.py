"""What torch.cuda and torch.accelerator answer when the GPU is the virtual one."""

from __future__ import annotations

import types
from typing import Any, Callable, Dict

import torch

from ..process.patches import Patches
from . import streams
from .function import check_ordinal
from .gpu import Gpu
from .properties import card


class Properties(types.SimpleNamespace):
    """What torch.cuda.get_device_properties gives back."""


_OF_ALL = ("is_available", "device_count", "synchronize", "set_stream", "empty_cache")
"""What torch.accelerator answers as torch.cuda does."""


def patch(patches: Patches, gpu: Gpu) -> None:
    """Answer each query by a function of its own and of the right name. Never `_is_compiled`: torch decides by it
    which C++ classes exist."""
    cuda: Any = torch.cuda
    made = streams.classes(gpu)
    for name, cls in made.items():
        if hasattr(cuda, name):
            cls.__module__, cls.__qualname__ = "torch.cuda", name
            patches.set(cuda, name, cls)
    stream = made["Stream"]()
    calls = {**_queries(gpu), **_memory(gpu), **_random()}
    for name, call in calls.items():
        if hasattr(cuda, name):
            patches.answer(cuda, name, call)
    # Inductor and Helion kept torch's own get_device_properties; it ends here, in C++ that a build for CPUs lacks.
    patches.answer(cuda, "_get_device_properties", calls["get_device_properties"])
    for name in ("current_stream", "default_stream"):
        patches.answer(cuda, name, lambda *a, **k: stream)
    patches.answer(cuda, "stream", lambda s=None, *a, **k: made["StreamContext"](s))
    patches.answer(cuda, "make_graphed_callables", lambda fn, *a, **k: fn)
    patches.set(torch.version, "cuda", torch.version.cuda or "13.0")
    accelerator: Any = getattr(torch, "accelerator", None)  # since 2.6
    if accelerator is not None:
        answers: Dict[str, Callable[..., Any]] = {
            **{name: calls[name] for name in _OF_ALL},
            **dict.fromkeys(("current_device_index", "current_device_idx"), lambda: 0),
            **dict.fromkeys(("set_device_index", "set_device_idx"), _nothing),
            "current_accelerator": lambda *a, **k: torch.device("cuda"),
            "current_stream": lambda *a, **k: stream,
        }
        for name, call in answers.items():
            if hasattr(accelerator, name):
                patches.answer(accelerator, name, call)


def _nothing(*args: Any, **kwargs: Any) -> None:
    return None


def _queries(gpu: Gpu) -> Dict[str, Callable[..., Any]]:
    c = card(gpu.arch)
    capability = divmod(gpu.arch, 10)
    about = Properties(
        name=c.name,
        major=capability[0],
        minor=capability[1],
        total_memory=c.memory,
        multi_processor_count=c.processors,
        warp_size=32,
        max_threads_per_multi_processor=c.threads,
        max_threads_per_block=1024,
        shared_memory_per_block=49152,
        shared_memory_per_block_optin=c.shared,
        shared_memory_per_multiprocessor=c.shared + 1024,
        regs_per_multiprocessor=65536,
        L2_cache_size=c.l2,
        clock_rate=1980000,
        memory_clock_rate=2619000,
        memory_bus_width=5120,
        gcnArchName="",
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
        "get_arch_list": lambda: ["sm_%d" % gpu.arch],
        "is_bf16_supported": lambda *a, **k: gpu.arch >= 80,
        "is_tf32_supported": lambda *a, **k: gpu.arch >= 80,
        "can_device_access_peer": lambda *a: False,
        "is_current_stream_capturing": lambda: gpu.capture is not None,
        "set_stream": _nothing,
        "cudart": lambda: types.SimpleNamespace(cudaProfilerStart=lambda: 0, cudaProfilerStop=lambda: 0),
        "ipc_collect": _nothing,
        "utilization": lambda *a: 0,
    }


def _memory(gpu: Gpu) -> Dict[str, Callable[..., Any]]:
    total = card(gpu.arch).memory
    zero = (
        "memory_allocated max_memory_allocated memory_reserved max_memory_reserved memory_cached max_memory_cached "
        "host_memory_stats device_memory_used"
    )
    answers: Dict[str, Callable[..., Any]] = {name: lambda *a, **k: 0 for name in zero.split()}
    for name in "empty_cache reset_peak_memory_stats reset_max_memory_allocated reset_accumulated_memory_stats".split():
        answers[name] = _nothing
    answers["empty_cache"] = lambda *a, **k: gpu.copies.wait()  # as far as the host can tell
    answers["mem_get_info"] = lambda *a, **k: (total - (1 << 30), total)
    answers["memory_stats"] = lambda *a, **k: {}
    answers["memory_summary"] = lambda *a, **k: ""
    answers["set_per_process_memory_fraction"] = _nothing
    return answers


def _random() -> Dict[str, Callable[..., Any]]:
    """One generator serves host and device: torch.manual_seed seeds it anyway."""
    answers: Dict[str, Callable[..., Any]] = {
        name: _nothing
        for name in ("manual_seed", "manual_seed_all", "seed", "seed_all", "set_rng_state", "set_rng_state_all")
    }
    answers["manual_seed"] = answers["manual_seed_all"] = lambda seed: (
        torch.default_generator.manual_seed(int(seed)) and None
    )
    answers["get_rng_state"] = lambda *a: torch.default_generator.get_state()
    answers["get_rng_state_all"] = lambda: [torch.default_generator.get_state()]
    answers["initial_seed"] = lambda: torch.default_generator.initial_seed()
    return answers

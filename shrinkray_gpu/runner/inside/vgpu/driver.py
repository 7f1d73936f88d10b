"""A Triton driver for a device that is not there: the real compiler runs, nothing is launched.

Needs no torch: a script that has only Triton compiles and "launches" here too.
"""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, Sequence

from ..gpu_target import gpu_target
from ..launches import cubin
from . import hsaco, launcher
from .properties import card


class _Utils:
    """What the compiled C module of the real driver offers."""

    def __init__(self, arch: int, version: "tuple[int, ...]") -> None:
        self._card, self._target = card(arch), gpu_target(arch)
        self._more = (1024,) if version >= (3, 4) else ()  # 3.4 added the thread limit

    def get_device_properties(self, device: int) -> Dict[str, Any]:
        return {
            "max_shared_mem": self._card.shared,
            "max_num_regs": 65536,
            "multiprocessor_count": self._card.processors,
            "warpSize": self._target.warp_size,
            "arch": self._target.name,  # this and what follows is asked of AMD's
            "max_threads_per_sm": self._card.threads,
            "cooperativeLaunch": 1,
            "sm_clock_rate": 1980000,
            "mem_clock_rate": 2619000,
            "mem_bus_width": 5120,
        }

    def load_binary(self, name: str, binary: Any, *args: Any) -> "tuple[int, ...]":
        """Module, function, registers, spilled words."""
        registers, local = (hsaco if self._target.is_amd else cubin).resources(binary, name)
        return (0, 0, registers, local // 4, *self._more)

    def unload_module(self, *args: Any) -> None:
        return None

    set_printf_fifo_size = unload_module

    def cuOccupancyMaxActiveClusters(self, *args: Any) -> int:
        return self._card.processors // 2

    def fill_tma_descriptor(self, *args: Any) -> Any:
        return object()

    fill_tma_descriptor_tiled = fill_tma_descriptor_im2col = fill_1d_tma_descriptor = fill_2d_tma_descriptor = (
        fill_tma_descriptor
    )


class VirtualDriver:
    def __init__(self, arch: int, device: Any) -> None:
        """`device` takes the launches: a `launcher.Device`."""
        import triton

        self.target = gpu_target(arch)
        self.binary_ext = "hsaco" if self.target.is_amd else "cubin"
        self.device = device
        self.utils = _Utils(arch, tuple(int(x) for x in re.findall(r"\d+", triton.__version__)[:2]))

    @classmethod
    def is_active(cls) -> bool:
        return True

    def get_current_target(self) -> Any:
        return self.target.of_triton()

    def get_current_device(self, *args: Any) -> int:
        return 0

    get_current_stream = get_current_device

    def set_current_device(self, *args: Any) -> None:
        return None

    get_empty_cache_for_benchmark = clear_cache = set_current_device

    def get_device_capability(self, device: Any = 0) -> "tuple[int, int]":
        return self.target.capability

    def get_device_interface(self) -> Any:
        import torch

        return torch.cuda

    def get_active_torch_device(self) -> Any:
        import torch

        return torch.device("cuda", 0)

    def get_benchmarker(self) -> Callable[..., Any]:
        return self.bench

    def bench(
        self, fn: Callable[[], Any], *args: Any, quantiles: Any = None, return_mode: str = "mean", **kwargs: Any
    ) -> Any:
        """One run instead of many, and every run takes 1 ms: the first of equals wins, in every run of the script."""
        self.device.tuning = True
        try:
            fn()
        finally:
            self.device.tuning = False
        self.device.wait()
        if quantiles is not None:
            return [1.0] * len(quantiles) if len(quantiles) > 1 else 1.0
        return [1.0] if return_mode == "all" else 1.0

    def map_python_to_cpp_type(self, ty: str) -> str:
        return ty

    def assemble_tensormap_to_arg(self, tensormaps_info: Any, args: Sequence[Any]) -> Sequence[Any]:
        return args

    def launcher_cls(self, src: Any, metadata: Any) -> Callable[..., None]:
        return launcher.launcher(self.device, src, metadata)

"""Chance: what a program draws by chance, made the same in all runs that are compared with one another.

Seeds, and memory that nobody wrote. A candidate that lost `out.zero_()` reads what an earlier tensor left there, which
differs from run to run: were it left to chance, it would look like the fault that is asked for. So new memory is
filled with ones: not a number in every floating type, -1 in integers, and the same in all runs. So is what torch's
allocator has between tensors on a GPU, as far as that can be done beforehand: a candidate that lost its mask reads it.
"""

from __future__ import annotations

import random
from typing import Any, Callable

from ..process.patches import Patches

SEED = 0
BLOCKS = (*[1 << 20] * 8, *[20 << 20] * 2)
"""Sizes in bytes that torch's caching allocator takes from the driver, and cuts small and middling tensors from."""
ALLOCATING = ("empty", "empty_like", "empty_strided", "empty_permuted")
MEMBERS = ("new_empty", "new_empty_strided")
INDUCTOR = ("_empty_strided_cpu", "_empty_strided_cpu_pinned", "_empty_strided_cuda")
"""What Inductor's generated code allocates with, past Python's `torch.empty_strided`."""


class Chance:
    """From `settle` to `end` nothing that we know how to settle is left to chance."""

    def __init__(self) -> None:
        self._patches = Patches()

    def settle(self) -> None:
        random.seed(SEED)
        self._patches.on_import("numpy", self._numpy)
        self._patches.on_import("torch", self._torch)

    def end(self) -> None:
        self._patches.undo()

    def _numpy(self, numpy: Any) -> None:
        numpy.random.seed(SEED)
        self._patches.wrap(
            numpy.random, "default_rng", lambda original: lambda seed=None: original(SEED if seed is None else seed)
        )

    def _torch(self, torch: Any) -> None:
        torch.manual_seed(SEED)  # for CUDA too, at once or when it comes up
        _remember_constructors()
        if torch.cuda.is_initialized():
            self._fill_cache()
        elif hasattr(torch.cuda, "_lazy_call"):
            torch.cuda._lazy_call(self._fill_cache)
        guards = getattr(getattr(torch._C, "_dynamo", None), "guards", None)
        for owner, names in ((torch, ALLOCATING), (torch.Tensor, MEMBERS), (guards, INDUCTOR)):
            for name in names:
                if getattr(owner, name, None) is not None:
                    self._patches.wrap(owner, name, lambda original: _fills_memory(torch, original))

    def _fill_cache(self) -> None:
        """Leave torch's allocator memory to hand out that holds the same in all runs. Only better, not needed."""
        if self._patches.over:
            return
        try:
            import torch

            empty = getattr(torch.empty, "__wrapped__", torch.empty)
            blocks = [empty(size, dtype=torch.uint8, device="cuda").fill_(255) for size in BLOCKS]
            del blocks
        except Exception:  # no memory to spare, or a fault that is there already
            pass


def _remember_constructors() -> None:
    """`torch.set_default_device` keeps a set of the functions that it is about, made when it is first asked: it must
    hold torch's own, not what we put in their place."""
    try:
        from torch.utils import _device

        _device._device_constructors()
    except (ImportError, AttributeError):
        pass


def _fills_memory(torch: Any, original: Callable[..., Any]) -> Callable[..., Any]:
    """The constructor, whose new memory holds ones in all runs."""
    compiling = getattr(getattr(torch, "compiler", None), "is_compiling", lambda: False)
    empty = torch.empty

    def allocate(*args: Any, **kwargs: Any) -> Any:
        tensor = original(*args, **kwargs)
        if compiling() or kwargs.get("out") is not None or type(tensor) is not torch.Tensor:
            return tensor
        if tensor.device.type != "meta" and tensor.layout is torch.strided:
            whole = tensor.untyped_storage()
            if whole.nbytes():
                ones = 1 if tensor.dtype is torch.bool else 255
                empty(0, dtype=torch.uint8, device=tensor.device).set_(whole).fill_(ones)
        return tensor

    return allocate

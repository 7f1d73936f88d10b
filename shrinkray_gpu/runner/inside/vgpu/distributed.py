"""torch.distributed of one process: NCCL has no GPU here, and gloo does the same on the tensors of the virtual one."""

from __future__ import annotations

import inspect
from typing import Any, Callable

import torch.distributed

from ..process.patches import Patches

_OF_NCCL = ("device_id", "pg_options", "device_ids")
"""What gloo takes no word of."""


def patch(patches: Patches) -> None:
    distributed: Any = torch.distributed
    if not distributed.is_available():
        return
    for name in ("init_process_group", "new_group", "barrier"):
        call = _by_gloo(getattr(distributed, name))
        for module in (distributed, distributed.distributed_c10d):
            patches.answer(module, name, call)
    for module in (distributed, distributed.distributed_c10d):
        patches.answer(module, "is_nccl_available", lambda: True)
    patches.wrap(torch.nn.parallel.DistributedDataParallel, "__init__", _without_buckets)


def _without_buckets(original: Callable[..., Any]) -> Callable[..., Any]:
    """Gradients as under `no_sync()`: there is no other process to share them with, and the buckets that C++ makes for
    that claim no device."""

    def make(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **{**kwargs, "static_graph": False})  # whose first iteration is the buckets' as well
        self.require_backward_grad_sync = False

    return make


def _by_gloo(original: Callable[..., Any]) -> Callable[..., Any]:
    """The same for a group of NCCL, and where none is named."""
    signature = inspect.signature(original)

    def call(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs).arguments
        backend = given.get("backend")
        if backend is not None and "nccl" not in str(backend).lower():
            return original(*args, **kwargs)
        if backend is not None or original.__name__ == "init_process_group":
            given["backend"] = "gloo"
        return original(**{name: value for name, value in given.items() if name not in _OF_NCCL})

    return call

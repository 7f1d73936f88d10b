"""Operators that the script registers with torch: their bodies are user code again, and see the virtual GPU.

A dispatch mode is off inside its own handler, and torch runs the body of an operator from there: `device="cuda"` would
escape to a torch without CUDA, and tensors would say that they are on the CPU. And since all tensors are CPU tensors
below, a kernel registered for CUDA would never be found.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Tuple

from ..process.patches import Patches
from .claims import tensors
from .modes import both_again, current

_BODIES = ("", "CPU", "CUDA", "CompositeExplicitAutograd", "CompositeImplicitAutograd")
"""Keys under which a body is registered; others are shapes alone (Meta), or call a body in turn (Autograd)."""
_TORCHS = ("aten", "prim", "prims")
"""Operators that have kernels of torch's own, below all modes."""


def patch(patches: Patches) -> None:
    """From here on; what was registered before stays as it is. Bodies called where no GPU is virtual are as ever."""
    import torch.library
    from torch.library import Library

    falls_through = getattr(torch.library, "fallthrough_kernel", None)
    original: Any = Library.impl
    if getattr(original, "of_virtual_gpu", False):
        return
    by_device: Dict[Tuple[str, str], Dict[str, Callable[..., Any]]] = {}
    libraries: Dict[str, Any] = {}  # what is registered lasts as long as they do

    def impl(self: Any, op_name: Any, fn: Any, dispatch_key: str = "", **more: Any) -> Any:
        key = dispatch_key or self.dispatch_key
        if self.ns in _TORCHS or key not in _BODIES or more.get("with_keyset") or fn is falls_through:
            return original(self, op_name, fn, dispatch_key, **more)
        if key not in ("CPU", "CUDA"):
            return original(self, op_name, _as_user_code(fn), dispatch_key, **more)
        name = (op_name if isinstance(op_name, str) else op_name.name()).rpartition("::")[2]
        kernels = by_device.setdefault((self.ns, name), {})
        if not kernels:  # one kernel for both devices; theirs may be in a library that is for CUDA alone
            if self.ns not in libraries:
                libraries[self.ns] = Library(self.ns, "IMPL")
            original(libraries[self.ns], name, _as_user_code(_chosen(name, kernels)), "CPU")
        kernels[key] = fn

    impl.of_virtual_gpu = True  # type: ignore[attr-defined]
    patches.set(Library, "impl", impl)


def _as_user_code(body: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        with both_again():
            return body(*args, **kwargs)

    return call


def _chosen(name: str, kernels: Dict[str, Callable[..., Any]]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        key = _device(args, kwargs)
        if key not in kernels:
            raise NotImplementedError(
                "Could not run '%s' with arguments from the '%s' backend: no kernel was registered for it" % (name, key)
            )
        return kernels[key](*args, **kwargs)

    return call


def _device(args: Any, kwargs: Any) -> str:
    functions = current()
    found = tensors(args) + tensors(kwargs.values())
    on_gpu = functions is not None and any(functions.gpu.claims.device(t) == "cuda" for t in found)
    return "CUDA" if on_gpu else "CPU"

"""What a script gets instead of a built module or kernel where nothing is launched. Standard library only."""

from __future__ import annotations

import sys
from typing import Any, Callable, List


class LazyModule:
    """A module that is made when one of its functions is called: a script that calls none need not wait for it."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make, self._made = make, None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)

        def call(*args: Any, **options: Any) -> Any:
            if self._made is None:
                self._made = self._make()
            return getattr(self._made, name)(*args, **options)

        return call


class Kernel:
    """A kernel that is not launched: each call is written down, and what its tensors hold is unknown from then on."""

    def __init__(self, name: str, launched: List[str], gpu: Callable[[], Any]) -> None:
        self._name, self._launched, self._gpu = name, launched, gpu

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return StandIn()

    def __call__(self, *args: Any, **options: Any) -> None:
        if self._name not in self._launched:
            self._launched.append(self._name)
        gpu = self._gpu()
        if gpu is None or gpu.claims is None:
            return
        from ..vgpu.claims import tensors

        gpu.launched = True
        for tensor in tensors([*args, *options.values()]):
            gpu.claims.doubt(tensor)


class StandIn:
    """A built module or kernel where nothing is launched: every call gives its first tensor's like, or nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return StandIn()

    def __getitem__(self, key: Any) -> Any:
        return StandIn()

    def __call__(self, *args: Any, **options: Any) -> Any:
        torch: Any = sys.modules.get("torch")
        for value in args:
            if torch is not None and isinstance(value, torch.Tensor):
                return torch.empty_like(value)
        return None

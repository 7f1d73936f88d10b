"""Which memory plays the GPU's: real CPU storages that claim to be CUDA, and storages whose values nobody knows.

Of some of those it is known how they come about (`torch.randn` of so many elements, after that seed), which is as good
as the values where the question is whether two launches are on the same data.

A claim belongs to a storage, so that views, detached and reshaped tensors share it. Addresses of freed storages are
used again by the next one; a weak reference held beside each claim keeps the address taken.
"""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Optional

import torch
from torch.multiprocessing.reductions import StorageWeakRef

_PURGE_EVERY = 1 << 14
# Asked from outside a mode's own handler, a tensor would answer with the very claim that is looked up here.
_plain: Any = torch._C.DisableTorchFunction


class _Claim:
    __slots__ = ("ref", "bytes", "cuda", "unknown", "origin", "written", "pinned")

    def __init__(self, ref: Any, bytes: int) -> None:
        self.ref = ref
        self.bytes = bytes
        self.cuda = False
        self.unknown = False
        self.origin = ""
        self.written: Optional[bool] = True
        self.pinned = False


class Claims:
    """What is claimed of each storage, by the address of its handle."""

    def __init__(self) -> None:
        self._of: Dict[int, _Claim] = {}
        self._purge_at = _PURGE_EVERY

    def device(self, tensor: Any) -> str:
        """The device type that this tensor claims to be on."""
        with _plain():
            tensor = _innermost(tensor)
            kind = str(tensor.device.type)
            if kind != "cpu":
                return kind
            claim = self._of.get(address(tensor))
        return "cuda" if claim is not None and claim.cuda else "cpu"

    def unknown(self, tensor: Any) -> bool:
        """Whether a kernel that never ran would have written here, or it was computed from such values."""
        with _plain():
            claim = self._of.get(address(tensor)) if tensor.device.type == "cpu" else None
        return claim is not None and claim.unknown

    def origin(self, tensor: Any) -> str:
        """Of unknown values: a word on how the whole storage came about; empty where nobody knows."""
        with _plain():
            claim = self._of.get(address(tensor)) if tensor.device.type == "cpu" else None
        return claim.origin if claim is not None else ""

    def written(self, tensor: Any) -> Optional[bool]:
        """Whether each element was written since `torch.empty`: all, none, or (None) nobody knows which."""
        with _plain():
            claim = self._of.get(address(tensor)) if tensor.device.type == "cpu" else None
        return claim is None or claim.written

    def pinned(self, tensor: Any) -> bool:
        """Whether it is in memory of the host that the device reads by itself."""
        with _plain():
            claim = self._of.get(address(tensor)) if tensor.device.type == "cpu" else None
        return claim is not None and claim.pinned and not claim.cuda

    def pin(self, tensor: Any) -> None:
        self._set(tensor, pinned=True)

    def empty(self, tensor: Any) -> None:
        """Fresh from `torch.empty`."""
        self._set(tensor, written=False)

    def write(self, tensor: Any, *, whole: bool) -> None:
        """Something writes to it. `whole`: to each element of the storage."""
        if self.written(tensor) is not True:
            self._set(tensor, written=whole or None)

    def claim(self, tensor: Any) -> None:
        """This tensor is on the GPU."""
        self._set(tensor, cuda=True)

    def doubt(self, tensor: Any, origin: str = "") -> None:
        """From here on nobody knows what this tensor holds, but perhaps how its whole storage came about."""
        self._set(tensor, unknown=True, origin=origin)

    def trust(self, tensor: Any) -> None:
        """The whole storage was written with known values."""
        self._set(tensor, unknown=False, origin="")

    def bytes_on_gpu(self) -> int:
        """Of all storages on the GPU that are still held, as its allocator rounds them."""
        held = [claim.bytes for claim in self._of.values() if claim.cuda and not claim.ref.expired()]
        return sum(-(-each // 512) * 512 for each in held)

    def _set(self, tensor: Any, **values: Any) -> None:
        with _plain():
            if tensor.device.type == "cpu":
                claim = self._at(tensor)
                for name, value in values.items():
                    setattr(claim, name, value)

    def _at(self, tensor: Any) -> _Claim:
        key = address(tensor)
        claim = self._of.get(key)
        if claim is None:
            if len(self._of) >= self._purge_at:
                self._purge()
            storage = tensor.untyped_storage()
            claim = self._of[key] = _Claim(StorageWeakRef(storage), storage.nbytes())
        return claim

    def _purge(self) -> None:
        dead: List[int] = [key for key, claim in self._of.items() if claim.ref.expired()]
        for key in dead:
            del self._of[key]
        self._purge_at = max(_PURGE_EVERY, 2 * len(self._of))


def _innermost(tensor: Any) -> Any:
    """A tensor that is made of others (DTensor) is where they are."""
    while hasattr(type(tensor), "__tensor_flatten__"):
        tensor = getattr(tensor, tensor.__tensor_flatten__()[0][0])
    return tensor


def address(tensor: Any) -> int:
    """Of its storage's handle."""
    return int(tensor.untyped_storage()._cdata)


def tensors(tree: Iterable[Any]) -> List[Any]:
    """All tensors among arguments, also inside lists and tuples (as in torch.cat). Hot: pytree costs ten times as
    much."""
    out: List[Any] = []
    for x in tree:
        if isinstance(x, torch.Tensor):
            out.append(x)
        elif isinstance(x, (list, tuple)):
            out.extend(tensors(x))
        elif isinstance(x, dict):
            out.extend(tensors(x.values()))
    return out

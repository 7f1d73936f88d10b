"""Memory that nobody wrote: new memory holds a pattern, by which it is known until something is written there.

No kernel computes the pattern: it is a NaN of any floating type, with a payload, and an unlikely number of 32 bits. Not
known are types of 8 bits, and whole numbers of 16. What an operation computes of such memory is *tainted* from then on,
see `Provenance`; what only moves it holds the pattern still. So a part of a tensor may be read that was written.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterator, List

PATTERN = 0xFFB7
"""In each two bytes."""
EMPTY = frozenset("empty empty_like empty_strided empty_permuted new_empty new_empty_strided".split())
"""Operations that make memory that nobody wrote."""
_MOVES = frozenset("clone _to_copy copy_ cat stack contiguous".split())
_REPLACES = frozenset(
    "copy_ fill_ zero_ normal_ uniform_ random_ exponential_ bernoulli_ index_put_ _index_put_impl_ scatter_ "
    "masked_fill_ masked_scatter_ index_fill_ index_copy_ put_ set_ resize_".split()
)
"""Operations that put values into their first operand, and compute nothing of what was there."""
_LOADS = ("create_load", "create_masked_load")
_WIDTHS = {2: "int16", 4: "int32", 8: "int64"}


class UnwrittenMemory:
    """The storages that may hold the pattern."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.loaded = False
        """Whether a program instance of the launch under way loaded some."""
        self._storages: Dict[int, Any] = {}
        """With a weak reference to each: as long as that is here, its address is not used again."""

    def fill(self, tensor: Any) -> None:
        """Put the pattern into new memory; a bool is true then, since nothing else is one."""
        torch = self.torch
        if not isinstance(tensor, torch.Tensor) or tensor.device.type == "meta" or not tensor.numel():
            return
        storage = tensor.untyped_storage()
        whole = torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(storage)
        if tensor.dtype is torch.bool:
            whole.fill_(1)
            return
        even = storage.nbytes() // 2 * 2
        whole[even:].fill_(PATTERN & 0xFF)
        whole[:even].view(torch.int16).fill_(PATTERN - (1 << 16))
        self._may_hold(tensor)

    def forget(self) -> None:
        """Of storages that are gone."""
        self._storages = {key: each for key, each in self._storages.items() if not each.expired()}

    def is_in(self, tensor: Any) -> bool:
        """Whether an element of the tensor is one that nobody wrote."""
        torch, key = self.torch, _storage(tensor)
        kind = _WIDTHS.get(tensor.element_size() // (2 if tensor.is_complex() else 1))
        if key not in self._storages or kind is None or tensor.dtype is torch.int16 or tensor.dtype is torch.uint16:
            return False
        try:
            with torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch(), torch.no_grad():
                real = torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor
                found = bool((real.detach().view(getattr(torch, kind)) == _number(real.element_size())).any())
        except Exception:  # a device in an error gives nothing back
            return False
        if not found and tensor.numel() * tensor.element_size() == tensor.untyped_storage().nbytes():
            del self._storages[key]
        return found

    def taken(self, func: Any, name: str, args: Any, kwargs: Any, tensors: Callable[[Any], Iterator[Any]]) -> List[Any]:
        """The tensors whose values an operation takes to compute something; none of one that makes a view, or new
        memory like another's."""
        if name in EMPTY or name.endswith("_like") or name.startswith("new_"):
            return []
        if any(each.alias_info is not None and not each.alias_info.is_write for each in func._schema.returns):
            return []
        given = {key: value for key, value in kwargs.items() if key != "out"}
        return list(tensors((args[1:] if name in _REPLACES else args, given)))

    def moved(self, name: str, taken: List[Any], out: List[Any]) -> bool:
        """Whether an operation only moved what it took. Then the pattern is in what it wrote to."""
        if name not in _MOVES or any(each.dtype is not taken[0].dtype for each in (*taken, *out)):
            return False
        for each in out:
            self._may_hold(each)
        return True

    def _may_hold(self, tensor: Any) -> None:
        from torch.multiprocessing.reductions import StorageWeakRef

        self._storages[_storage(tensor)] = StorageWeakRef(tensor.untyped_storage())

    def install(self, module: Any, wrap: Callable[[Any, str, Any], None]) -> None:
        """Look at what kernels load that Triton's interpreter runs."""
        for name in _LOADS:
            if hasattr(module.InterpreterBuilder, name):
                wrap(module.InterpreterBuilder, name, self._loads)

    def _loads(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def load(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            if not self.loaded and self._storages:
                data = getattr(result, "data", None)
                numbers = getattr(getattr(data, "dtype", None), "kind", "") in "iuf"
                size = data.dtype.itemsize if data is not None and numbers else 0
                if size in (4, 8) or size == 2 and str(getattr(result, "dtype", "")) in ("fp16", "bf16"):
                    assert data is not None
                    self.loaded = bool((data.view("i%d" % size) == _number(size)).any())
            return result

        return load


def _number(size: int) -> int:
    """The pattern as a whole number of so many bytes."""
    return int.from_bytes(PATTERN.to_bytes(2, "little") * (size // 2), "little", signed=True)


def _storage(tensor: Any) -> int:
    return int(tensor.untyped_storage()._cdata)

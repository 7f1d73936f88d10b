"""Below torch's dispatcher: hands claims from inputs to outputs, and refuses what a real device would refuse.

Every operation runs on real CPU memory, so data-dependent host code (`.item()`, boolean indexing, backward) just works.
What it computes too slowly on a CPU is not computed: shape from the meta device, memory committed lazily, values
unknown.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from . import content, lazy, unknown
from .claims import tensors
from .gpu import Gpu

_FAKE: Any = torch._C._TorchDispatchModeKey.FAKE

# Operations that torch itself lets cross devices.
_CROSSES = frozenset(
    "copy_ _to_copy index index_put index_put_ _index_put_impl_ set_ resize_ _local_scalar_dense lift_fresh detach "
    "_pack_padded_sequence _copy_from _copy_from_and_resize _has_compatible_shallow_copy_type".split()
)
# Operations whose output or effect lives where their first tensor does.
_LIKE_FIRST = frozenset("copy_ index_put index_put_ _index_put_impl_ index".split())
# Operations that make the host wait for the device: their result is a number, or a shape that depends on data.
_WAITS = frozenset(
    "_local_scalar_dense nonzero equal allclose masked_select _unique2 unique_dim unique_consecutive bincount".split()
)
# Operations that leave memory as it was.
_EMPTY = frozenset("empty empty_strided empty_like new_empty new_empty_strided".split())
# Operations that write each element of what they are given.
_FILLS = frozenset("copy_ zero_ fill_ normal_ uniform_ random_ exponential_ bernoulli_ log_normal_ cauchy_".split())
# Work that grows faster than its inputs.
_HEAVY = frozenset(
    "mm bmm addmm baddbmm convolution convolution_backward linear _scaled_dot_product_flash_attention_for_cpu "
    "_scaled_dot_product_attention_math _scaled_dot_product_flash_attention_for_cpu_backward".split()
)
# Must be computed whatever their size: views, and those whose answer the host needs.
_ALWAYS = frozenset(
    "detach alias _local_scalar_dense set_ _unsafe_view lift_fresh nonzero _unique2 masked_select unique_dim resize_ "
    "equal allclose".split()
)


class DeviceRequest:
    """The device type that the Python call in progress asked for; shared by the two modes of one thread."""

    device: Optional[str] = None
    beside: Any = None
    """What torch's C++ was called on: where that lies, it makes tensors of nothing (`one_hot`)."""


class DeviceDispatch(TorchDispatchMode):
    supports_higher_order_operators = True

    def __init__(self, gpu: Gpu, want: DeviceRequest) -> None:
        super().__init__()
        self.gpu = gpu
        self.want = want

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Torch would import dynamo at the first operation, to keep it out of the handler: see `compiled`."""
        return False

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """Dynamo would compile nothing while a mode is on that wants to see each operation: see `compiled`."""
        return True

    def __torch_dispatch__(self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        if torch._C._get_dispatch_mode(_FAKE) is not None:
            # Shapes alone. That mode comes after this one, whoever began first, and takes no real tensor of ours; its
            # fakes of claimed tensors are on the CPU, so the others must be, too.
            kwargs = dict(kwargs or {})
            if str(kwargs.get("device") or "").startswith("cuda"):
                kwargs["device"] = torch.device("cpu")
            return func(*args, **kwargs)
        if any(hasattr(each, "__tensor_flatten__") for each in types):
            return NotImplemented  # made of others (DTensor): what becomes of those comes here again
        # Called from C++ (backward) the function mode would still be on, and catch our own calls.
        with torch._C.DisableTorchFunction():
            if not hasattr(func, "_schema"):
                return self._higher_order(func, args, kwargs or {})
            return self._run(func, args, kwargs or {})

    def _higher_order(self, func: Any, args: Sequence[Any], kwargs: Dict[str, Any]) -> Any:
        """An operator that calls graphs or kernels, in a graph that is run as it is: all of it below the modes."""
        on_gpu = any(self.gpu.claims.device(t) == "cuda" for t in tensors(args) + tensors(kwargs.values()))
        self.gpu.compiling += 1
        try:
            out = func(*args, **kwargs)
        finally:
            self.gpu.compiling -= 1
        for t in tensors((out,)) if on_gpu else ():
            self.gpu.claims.claim(t)
        return out

    def _run(self, func: Any, args: Sequence[Any], kwargs: Dict[str, Any]) -> Any:
        gpu, claims = self.gpu, self.gpu.claims
        inputs = tensors(args) + tensors(kwargs.values()) if kwargs else tensors(args)
        name = func._schema.name.partition("::")[2]
        devices = [claims.device(t) for t in inputs]
        near = devices or [claims.device(each) for each in tensors((self.want.beside,))] or ["cpu"]
        device = self.want.device or ("cuda" if "cuda" in near else near[0])
        if name in _LIKE_FIRST:
            device = devices[0]
        if "cuda" in devices or device == "cuda":
            gpu.check()
            _refuse_mixed(name, inputs, devices)
            if self._waits(name, args, inputs, devices, device):
                gpu.wait()
        doubtful = [t for t in inputs if claims.unknown(t)]
        if doubtful and (name in _WAITS or name in unknown.ANSWERS):
            gpu.guess()
        if doubtful and name in unknown.ANSWERS:
            out = unknown.answer(name, func, args, kwargs)
        elif doubtful and name == "_local_scalar_dense":
            return unknown.number(doubtful[0], func(*args, **kwargs))
        else:
            # Asked first: what is computed in place changes the memory that others' words are made of.
            known = all(claims.origin(t) for t in doubtful)
            origin = content.origin(claims, func, args, kwargs) if doubtful and known else ""
            out, computed = self._compute(func, name, args, kwargs, inputs)
            if not (doubtful or computed):
                origin = content.origin(claims, func, args, kwargs)
            if doubtful or not computed:
                self._doubt(func, out, args, kwargs, origin)
            elif name in ("copy_", "zero_", "fill_") and _is_whole(inputs[0]):
                claims.trust(inputs[0])
            if name in _EMPTY:
                claims.empty(out)
        written = tensors(_written(func, args, kwargs))
        for t in written:
            claims.write(t, whole=name in _FILLS and _is_whole(t))
        if gpu.copies or name == "copy_":
            self._queue(name, args, kwargs, inputs, devices, written, out)
        if device == "cuda" and name in _HEAVY:
            gpu.worked.append("%s %s" % (name, [tuple(t.shape) for t in inputs]))
        if device == "cuda":
            for t in tensors((out,)):
                claims.claim(t)
        return out

    def _queue(
        self,
        name: str,
        args: Sequence[Any],
        kwargs: Dict[str, Any],
        inputs: List[Any],
        devices: List[str],
        written: List[Any],
        out: Any,
    ) -> None:
        """What the operation does to copies from pinned memory, or is itself one."""
        copies = self.gpu.copies
        from_host = devices[:1] == ["cuda"] and any(d == "cpu" and t.dim() for t, d in zip(inputs, devices))
        if name == "copy_" and devices == ["cuda", "cpu"]:
            if (args[2] if len(args) > 2 else kwargs.get("non_blocking")) and self.gpu.capture is None:
                copies.copied(inputs[1], inputs[0])
                return
            from_host = True
        if from_host and copies:
            copies.wait()
        if copies:
            filled = name in _FILLS and all(map(_is_whole, written))
            copies.computed(inputs, written, filled, tensors((out,)))

    def _waits(self, name: str, args: Sequence[Any], inputs: List[Any], devices: List[str], device: str) -> bool:
        if name in _WAITS:
            return "cuda" in devices
        if name == "copy_":
            return devices == ["cpu", "cuda"] and not (len(args) > 2 and args[2])
        if name in ("clone", "_to_copy"):
            return device == "cpu" and "cuda" in devices
        if name in ("index", "index_put_", "index_put"):
            return any(t.dtype == torch.bool and d == "cuda" for t, d in zip(inputs[1:], devices[1:]))
        return False

    def _compute(
        self, func: Any, name: str, args: Sequence[Any], kwargs: Dict[str, Any], inputs: List[Any]
    ) -> "tuple[Any, bool]":
        """The result, and whether its values were computed."""
        if not inputs:
            size = next(
                (each for each in args[:3] if isinstance(each, (list, tuple))), None
            )  # randint(low, high, size)
            count = _count(size)
            if size is not None and (name in ("empty", "empty_strided") or count > lazy.LIMIT):
                shaped = func(*args, **{**_without_generator(kwargs), "device": "meta"})
                zero = name in ("zeros", "empty", "empty_strided", "_efficientzerotensor")
                return lazy.zeros(shaped.shape, shaped.stride(), shaped.dtype), zero
            return func(*args, **kwargs), True
        if func.is_view or name in _ALWAYS or not _too_big(name, inputs):
            if name in ("empty_like", "new_empty", "new_empty_strided"):
                shaped = func(*args, **{**kwargs, "device": "meta", "pin_memory": False})
                return lazy.zeros(shaped.shape, shaped.stride(), shaped.dtype), True
            try:
                return func(*args, **kwargs), True
            except (RuntimeError, NotImplementedError) as error:
                if "not implemented" not in str(error) and "not supported" not in str(error):
                    raise  # else: a type that only the GPU's kernels know (float8 matmul), so only the shape is made
        if written := _written(func, args, kwargs):
            return (written[0] if func._schema.returns else None), False
        try:
            shaped = func(
                *tree_map(_meta, tuple(args)), **{k: tree_map(_meta, v) for k, v in _without_generator(kwargs).items()}
            )
        except Exception:  # no meta kernel: then it costs what it costs
            return func(*args, **kwargs), True
        make = lambda t: lazy.zeros(t.shape, t.stride(), t.dtype) if isinstance(t, torch.Tensor) else t  # noqa: E731
        return tree_map(make, shaped), False

    def _doubt(self, func: Any, out: Any, args: Sequence[Any], kwargs: Dict[str, Any], origin: str) -> None:
        """Nobody knows what was written, unless `origin` says how it came about."""
        claims = self.gpu.claims
        if func.is_view:  # of a storage that is in doubt already
            return
        written = tensors(_written(func, args, kwargs))
        for t in written:
            claims.doubt(t, origin if claims.origin(t) or _is_whole(t) else "")
        for index, t in enumerate(tensors((out,)) if not written else ()):
            claims.doubt(t, origin and "%s.%d" % (origin, index))


def _written(func: Any, args: Sequence[Any], kwargs: Dict[str, Any]) -> List[Any]:
    """The arguments that the operation writes to."""
    if not func._schema.is_mutable:
        return []
    given = [*args, *(kwargs.get(declared.name) for declared in func._schema.arguments[len(args) :])]
    return [
        each
        for declared, each in zip(func._schema.arguments, given)
        if declared.alias_info is not None and declared.alias_info.is_write
    ]


def _refuse_mixed(name: str, inputs: List[Any], devices: List[str]) -> None:
    """As torch does: else a reducer would drop `device="cuda"` wherever it likes."""
    if name == "index" and devices[0] == "cpu" and "cuda" in devices[1:]:
        raise RuntimeError("indices should be either on cpu or on the same device as the indexed tensor (cpu)")
    if name in _CROSSES or "cpu" not in devices or "cuda" not in devices:
        return
    if any(d == "cpu" and t.dim() for t, d in zip(inputs, devices)):
        raise RuntimeError(
            "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
        )


def _too_big(name: str, inputs: List[Any]) -> bool:
    if sum(t.numel() for t in inputs) > lazy.LIMIT:
        return True
    last = inputs[-1]
    return (
        name in _HEAVY and len(inputs) > 1 and last.dim() > 0 and inputs[0].numel() * last.shape[-1] > 32 * lazy.LIMIT
    )


def _count(size: Any) -> int:
    count = 1
    for n in size or ():
        if not isinstance(n, int):
            return 0
        count *= n
    return count


def _is_whole(tensor: Any) -> bool:
    """Whether it has all of its storage."""
    return bool(tensor.numel() * tensor.element_size() == tensor.untyped_storage().nbytes())


def _without_generator(kwargs: Dict[str, Any]) -> Dict[str, Any]:
    return {k: None if k == "generator" else v for k, v in kwargs.items()}


def _meta(x: Any) -> Any:
    if isinstance(x, torch.Tensor):
        return torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device="meta")
    return torch.device("meta") if isinstance(x, torch.device) else x

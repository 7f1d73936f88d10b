"""Above torch's dispatcher, at the level of Python calls: what a tensor says of itself, and where it is asked to go.

Device arguments are rewritten to the CPU (there is no CUDA below) while `DeviceRequest` remembers what was meant.
"""

from __future__ import annotations

from types import BuiltinFunctionType, MethodDescriptorType
from typing import Any, Callable, Dict, Optional, Sequence

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._device import _device_constructors

from . import lazy
from .claims import tensors
from .dispatch import DeviceRequest
from .gpu import Gpu

Tensor = torch.Tensor
CUDA = torch.device("cuda", 0)
CPU = torch.device("cpu")
_FROM_HOST = (torch.tensor, torch.as_tensor, torch.asarray)
"""What fills a tensor on the host, and copies it to the device where it is to be there: the host waits for that."""
_OF_CPP = (BuiltinFunctionType, MethodDescriptorType)
_FAKE: Any = torch._C._TorchDispatchModeKey.FAKE


def device_type(x: Any) -> Optional[str]:
    """The type of what torch accepts as a device (also an index: that of a CUDA device), or None if it is something
    else."""
    if isinstance(x, torch.device):
        return x.type
    if isinstance(x, str):
        head = x.partition(":")[0]
        return head if head in ("cuda", "cpu", "meta") else None
    return "cuda" if isinstance(x, int) and not isinstance(x, bool) else None


def check_ordinal(x: Any) -> None:
    """There is one device: asking for another fails as it does on a host with one GPU."""
    index = x.index if isinstance(x, torch.device) else x.partition(":")[2] if isinstance(x, str) else x
    if index not in (None, "", 0, "0"):
        raise RuntimeError("CUDA error: invalid device ordinal")


class DeviceFunctions(TorchFunctionMode):
    def __init__(self, gpu: Gpu, want: DeviceRequest) -> None:
        super().__init__()
        self.gpu = gpu
        self.want = want
        self.constructors = _device_constructors()
        self.handlers = _handlers()

    def __torch_function__(self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if torch._C._get_dispatch_mode(_FAKE) is not None:
            return func(*args, **kwargs)  # the script has its own fake tensors (Helion binds kernels with them)
        handler = self.handlers.get(func)
        if handler is not None:
            return handler(self, func, args, kwargs)
        device = kwargs.get("device")
        if device is None and self.gpu.default is not None and func in self.constructors:
            device = self.gpu.default
        if kwargs.get("pin_memory"):
            out = self.__torch_function__(func, types, args, {**kwargs, "pin_memory": False})
            self.gpu.claims.pin(out)
            return out
        kind = device_type(device)
        if kind == "cuda":
            check_ordinal(device)
        if kwargs.get("generator") is not None:
            given = tensors(args[:1])  # `x.normal_(generator=g)` has no device but its tensor's
            _check_generator(kwargs["generator"], kind or (self.gpu.claims.device(given[0]) if given else "cpu"))
        if kind is None and args and isinstance(func, _OF_CPP):
            return self.beside(args[0], lambda: func(*args, **kwargs))
        if kind is None or kind == "meta":
            return func(*args, **kwargs)
        if kind == "cuda" and func in _FROM_HOST and self.gpu.copies:
            self.gpu.copies.wait()
        return self.wanting(kind, lambda: func(*args, **{**kwargs, "device": CPU}))

    def wanting(self, kind: str, call: Callable[[], Any]) -> Any:
        """Run a call whose results are to be on that device."""
        before, self.want.device = self.want.device, kind
        try:
            out = call()
        finally:
            self.want.device = before
        if kind == "cuda":  # a result that passed no dispatcher (torch.tensor fills its memory directly)
            self.gpu.check()
            for t in tensors((out,)):
                self.gpu.claims.claim(t)
        return out

    def beside(self, given: Any, call: Callable[[], Any]) -> Any:
        """Run a call of torch's C++ on that."""
        before, self.want.beside = self.want.beside, given
        try:
            return call()
        finally:
            self.want.beside = before

    def move(self, tensor: Any, device: Any, copy: bool = False, wait: bool = True) -> Any:
        kind = device_type(device)
        here = self.gpu.claims.device(tensor)
        if kind == "cuda":
            check_ordinal(device)
        if kind == "meta" or here == "meta":
            return tensor.to(device)
        if kind == here and not copy:
            return tensor
        if here == "cuda" and wait:
            self.gpu.wait()
        elif wait and self.gpu.copies:
            self.gpu.copies.wait()
        out = self.wanting(str(kind), tensor.clone)
        if here == "cpu" and kind == "cuda" and not wait and self.gpu.capture is None:
            self.gpu.copies.copied(tensor, out)
        if self.gpu.claims.unknown(tensor) and not self.gpu.claims.unknown(out):
            self.gpu.claims.doubt(out)
        return out


Handler = Callable[[DeviceFunctions, Any, Sequence[Any], Dict[str, Any]], Any]


def _to(mode: DeviceFunctions, func: Any, args: Sequence[Any], kwargs: Dict[str, Any]) -> Any:
    tensor, rest, kwargs = args[0], list(args[1:]), dict(kwargs)
    device = kwargs.pop("device", None)
    like = kwargs.pop("other", None)
    if rest and isinstance(rest[0], Tensor):
        like = rest.pop(0)
    elif rest and device_type(rest[0]) is not None:
        device = rest.pop(0)
    elif rest and rest[0] is None:
        rest.pop(0)
    if like is not None:
        device, kwargs["dtype"] = mode.gpu.claims.device(like), like.dtype
    # What is left by position is (dtype, non_blocking, copy) in every overload.
    names = ["dtype", "non_blocking", "copy"] if not rest or not isinstance(rest[0], bool) else ["non_blocking", "copy"]
    kwargs.update(zip(names, rest))
    wait = not kwargs.pop("non_blocking", False)
    copy = kwargs.pop("copy", False)
    kwargs = {k: v for k, v in kwargs.items() if v is not None}
    out = tensor if device is None else mode.move(tensor, device, copy, wait)
    if not kwargs and (out is not tensor or not copy):
        return out
    return out.to(copy=copy and out is tensor, **kwargs)


def _type(mode: DeviceFunctions, func: Any, args: Sequence[Any], kwargs: Dict[str, Any]) -> Any:
    kind = kwargs.get("dtype", args[1] if len(args) > 1 else None)
    if kind is None:
        name = args[0].type()
        return name.replace("torch.", "torch.cuda.") if mode.gpu.claims.device(args[0]) == "cuda" else name
    if isinstance(kind, str) and "Tensor" in kind:
        moved = mode.move(args[0], "cuda" if "cuda" in kind else "cpu")
        return moved.type(kind.replace("torch.cuda.", "torch."))
    return func(*args, **kwargs)


def _cuda(mode: DeviceFunctions, func: Any, args: Sequence[Any], kwargs: Dict[str, Any]) -> Any:
    device = kwargs.get("device", args[1] if len(args) > 1 else None)
    asynchronous = kwargs.get("non_blocking", args[2] if len(args) > 2 else False)
    return mode.move(args[0], "cuda" if device is None else device, wait=not asynchronous)


def _numpy(mode: DeviceFunctions, func: Any, args: Sequence[Any], kwargs: Dict[str, Any]) -> Any:
    if mode.gpu.claims.device(args[0]) == "cuda":
        raise TypeError(
            "can't convert cuda:0 device type tensor to numpy. "
            "Use Tensor.cpu() to copy the tensor to host memory first."
        )
    if mode.gpu.claims.pinned(args[0]):
        mode.gpu.copies.shown(args[0])
    return func(*args, **kwargs)


def _pin(mode: DeviceFunctions, func: Any, args: Sequence[Any], kwargs: Dict[str, Any]) -> Any:
    tensor, claims = args[0], mode.gpu.claims
    if claims.device(tensor) == "cuda":
        raise RuntimeError("cannot pin '%s' only dense CPU tensors can be pinned" % _type(mode, func, args, {}))
    if claims.pinned(tensor):
        return tensor
    out = tensor if tensor.numel() > lazy.LIMIT else tensor.clone()  # a larger one would be unknown
    claims.pin(out)
    return out


def _waits(mode: DeviceFunctions, func: Any, args: Sequence[Any], kwargs: Dict[str, Any]) -> Any:
    """Functions that read a tensor's values on the host without passing the dispatcher, or before they do."""
    if mode.gpu.claims.device(args[0]) == "cuda":
        mode.gpu.wait()
        if mode.gpu.claims.unknown(args[0]):
            mode.gpu.guess()
    return func(*args, **kwargs)


def _item(mode: DeviceFunctions, func: Any, args: Sequence[Any], kwargs: Dict[str, Any]) -> Any:
    """More elements than one are refused before anything is waited for."""
    return _waits(mode, func, args, kwargs) if args[0].numel() == 1 else func(*args, **kwargs)


def _new(mode: DeviceFunctions, func: Any, args: Sequence[Any], kwargs: Dict[str, Any]) -> Any:
    """`x.new_tensor(...)` and `x.new(...)` make memory of their own where x is, past the dispatcher."""
    device = kwargs.get("device")
    kind = mode.gpu.claims.device(args[0]) if device is None else device_type(device)
    if kind == "cuda":
        check_ordinal(device)
        if mode.gpu.copies:
            mode.gpu.copies.wait()
    if kind == "meta":
        return func(*args, **kwargs)
    here = {**kwargs, "device": CPU} if "device" in kwargs else kwargs
    return mode.wanting(str(kind), lambda: func(*args, **here))


def _repr(mode: DeviceFunctions, func: Any, args: Sequence[Any], kwargs: Dict[str, Any]) -> Any:
    text = _waits(mode, func, args, kwargs)
    if mode.gpu.claims.device(args[0]) == "cuda" and text.endswith(")"):
        return text[:-1] + ", device='cuda:0')"
    return text


def _device(mode: DeviceFunctions, func: Any, args: Sequence[Any], kwargs: Dict[str, Any]) -> Any:
    return CUDA if mode.gpu.claims.device(args[0]) == "cuda" else func(*args)


def _make_device(mode: DeviceFunctions, func: Any, args: Sequence[Any], kwargs: Dict[str, Any]) -> Any:
    if args and isinstance(args[0], int) and not isinstance(args[0], bool):
        return torch.device("cuda", args[0])  # on a CPU build an index alone names no device
    return func(*args, **kwargs)


def _parse_to(mode: DeviceFunctions, func: Any, args: Sequence[Any], kwargs: Dict[str, Any]) -> Any:
    """What `Module.to` reads its arguments with."""
    fixed = [CUDA if device_type(a) == "cuda" and isinstance(a, int) else a for a in args]
    device = kwargs.get("device")
    if isinstance(device, int) and not isinstance(device, bool):
        kwargs = {**kwargs, "device": CUDA}
    return func(*fixed, **kwargs)


def _check_generator(generator: Any, kind: str) -> None:
    of = getattr(generator, "claimed", "cpu")
    if of != kind and kind != "meta":
        raise RuntimeError("Expected a '%s' device type for generator but found '%s'" % (kind, of))


def _handlers() -> Dict[Any, Handler]:
    base: Any = Tensor
    nn: Any = torch._C._nn
    is_on: Callable[[str], Handler] = lambda kind: lambda m, f, a, k: m.gpu.claims.device(a[0]) == kind  # noqa: E731
    table: Dict[Any, Handler] = {
        base.device.__get__: _device,
        base.is_cuda.__get__: is_on("cuda"),
        base.is_cpu.__get__: is_on("cpu"),
        base.get_device: lambda m, f, a, k: 0 if m.gpu.claims.device(a[0]) == "cuda" else -1,
        base.cuda: _cuda,
        base.cpu: lambda m, f, a, k: m.move(a[0], "cpu"),
        base.to: _to,
        base.type: _type,
        base.numpy: _numpy,
        base.__array__: _numpy,
        base.tolist: _waits,
        base.item: _item,
        base.new: _new,
        base.new_tensor: _new,
        base.__repr__: _repr,
        base.pin_memory: _pin,
        base.is_pinned: lambda m, f, a, k: m.gpu.claims.pinned(a[0]),
        torch.device: _make_device,
        nn._parse_to: _parse_to,
    }
    return table

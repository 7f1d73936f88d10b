"""The rest of torch and of the testing libraries that knows of devices: defaults, generators, threads, comparisons."""

from __future__ import annotations

import contextlib
import threading
from typing import Any, Callable

import torch

from ..process.patches import Patches
from .claims import tensors
from .function import CPU, check_ordinal, device_type
from .gpu import Gpu
from .modes import functions_again, modes


def patch(patches: Patches, gpu: Gpu) -> None:
    _defaults(patches, gpu)
    _generators(patches)
    _backward(patches)
    _threads(patches, gpu)
    _autocast(patches)
    _legacy(patches, gpu)
    _comparisons(patches, gpu)


def _defaults(patches: Patches, gpu: Gpu) -> None:
    def set_default_device(device: Any) -> None:
        if device is not None:
            check_ordinal(device)
        gpu.default = None if device is None else torch.device("cuda" if device_type(device) == "cuda" else device)

    patches.answer(torch, "set_default_device", set_default_device)
    patches.answer(torch, "get_default_device", lambda: gpu.default or CPU)

    original: Any = torch.set_default_tensor_type

    def set_default_tensor_type(kind: Any) -> None:
        name = kind if isinstance(kind, str) else str(kind)
        if "cuda" in name:
            gpu.default = torch.device("cuda")
        original(name.replace("cuda.", "") if "cuda" in name else kind)

    patches.answer(torch, "set_default_tensor_type", set_default_tensor_type)


def _generators(patches: Patches) -> None:
    base: Any = torch.Generator

    class Generator(base):  # type: ignore[misc]
        claimed = "cpu"

        def __new__(cls, device: Any = "cpu") -> Any:
            if device_type(device) == "cuda":
                check_ordinal(device)
            made = base.__new__(cls, "cpu")
            made.claimed = device_type(device) or "cpu"
            return made

        @property
        def device(self) -> Any:
            return torch.device("cuda", 0) if self.claimed == "cuda" else CPU

    Generator.__module__, Generator.__qualname__ = "torch", "Generator"
    patches.set(torch, "Generator", Generator)
    default = Generator("cuda")
    default.manual_seed(torch.initial_seed())
    patches.set(torch.cuda, "default_generators", (default,))


def _backward(patches: Patches) -> None:
    """A mode is off inside its own handler, and `backward()` is such a handler: a custom Function's backward, user code
    run from C++, would escape. So would hooks on what is saved for it."""
    import torch.autograd
    import torch.autograd.graph

    def again(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            with functions_again():
                return original(*args, **kwargs)

        return call

    def hooked(original: Callable[..., Any]) -> Callable[..., Any]:
        def __init__(self: Any, pack_hook: Any, unpack_hook: Any) -> None:
            original(self, again(pack_hook), again(unpack_hook))

        return __init__

    patches.wrap(torch.autograd.graph.saved_tensors_hooks, "__init__", hooked)
    for module in (torch.autograd, torch.autograd.graph):
        if hasattr(module, "_engine_run_backward"):
            patches.answer(module, "_engine_run_backward", again(module._engine_run_backward))


def _threads(patches: Patches, gpu: Gpu) -> None:
    """Modes are per thread; a script's own threads get theirs."""
    thread: Any = threading.Thread
    original = thread._bootstrap_inner

    def _bootstrap_inner(self: Any) -> None:
        with modes(gpu):
            original(self)

    patches.set(thread, "_bootstrap_inner", _bootstrap_inner)


def _autocast(patches: Patches) -> None:
    """Autocast for the GPU, and for the CPU in the same type beside it, whose kernels run: else matmuls would hand
    kernels float32 where the device has half."""
    cls: Any = torch.autocast

    def enter(original: Callable[..., Any]) -> Callable[..., Any]:
        def __enter__(self: Any) -> Any:
            if self.device == "cuda":
                self._beside = cls("cpu", dtype=self.fast_dtype, enabled=self._enabled)
                self._beside.__enter__()
            return original(self)

        return __enter__

    def leave(original: Callable[..., Any]) -> Callable[..., Any]:
        def __exit__(self: Any, *exc: Any) -> Any:
            try:
                return original(self, *exc)
            finally:
                if self.device == "cuda":
                    self._beside.__exit__(*exc)

        return __exit__

    patches.wrap(cls, "__enter__", enter)
    patches.wrap(cls, "__exit__", leave)


def _legacy(patches: Patches, gpu: Gpu) -> None:
    """`torch.cuda.FloatTensor(3)`, and `torch.load` of a file whose tensors are to be on the GPU."""
    kinds = "Double Float Half BFloat16 Long Int Short Char Byte Bool"
    for name in ["%sTensor" % kind for kind in kinds.split()]:
        make: Any = getattr(torch, name)
        patches.answer(torch.cuda, name, lambda *a, _make=make: _make(*a).cuda())
    original: Any = torch.load

    def load(f: Any, map_location: Any = None, *args: Any, **kwargs: Any) -> Any:
        if device_type(map_location) != "cuda":
            return original(f, map_location, *args, **kwargs)
        loaded = original(f, "cpu", *args, **kwargs)
        for t in tensors((loaded,)):
            gpu.claims.claim(t)
        return loaded

    patches.answer(torch, "load", load)
    # Refuses our Stream class while it reads its arguments, before any mode is asked.
    patches.set(torch.Tensor, "record_stream", lambda self, stream: None)


def _comparisons(patches: Patches, gpu: Gpu) -> None:
    """assert_close and friends pass on unknown values, and still fail on what is known: shape and dtype."""
    import torch.testing

    original: Any = torch.testing.assert_close

    def assert_close(actual: Any, expected: Any, *args: Any, **kwargs: Any) -> None:
        pairs = list(zip(tensors((actual,)), tensors((expected,))))
        if not pairs and not gpu.launched or pairs and not any(gpu.claims.unknown(t) for pair in pairs for t in pair):
            original(actual, expected, *args, **kwargs)
            return
        for a, b in pairs:
            _same("shape", tuple(a.shape), tuple(b.shape))
            if kwargs.get("check_dtype", True):
                _same("dtype", a.dtype, b.dtype)
            if kwargs.get("check_device", True):
                _same("device", a.device, b.device)
            if "cuda" in (gpu.claims.device(a), gpu.claims.device(b)):
                gpu.wait()
        gpu.guess()

    patches.answer(torch.testing, "assert_close", assert_close)
    patches.answer(torch.testing, "assert_allclose", assert_close)

    def once_launched(said: Any, original: Callable[..., Any]) -> Callable[..., Any]:
        # numpy arrays carry no claim: after a launch that was not run, nobody knows where their values come from.
        def check(*args: Any, **kwargs: Any) -> Any:
            if not gpu.launched or gpu.ran_all:
                return original(*args, **kwargs)
            gpu.guess()
            return said

        return check

    with contextlib.suppress(ImportError):
        import numpy
        import numpy.testing

        passing = "assert_allclose assert_array_equal assert_equal assert_almost_equal assert_array_almost_equal"
        for module, names, said in ((numpy.testing, passing, None), (numpy, "allclose array_equal", True)):
            for name in names.split():
                patches.answer(module, name, once_launched(said, getattr(module, name)))


def _same(what: str, a: Any, b: Any) -> None:
    if a != b:
        raise AssertionError("The values for attribute '%s' do not match: %s != %s." % (what, a, b))

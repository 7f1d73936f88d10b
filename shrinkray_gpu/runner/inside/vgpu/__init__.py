"""The virtual GPU: the script runs whole, on real CPU tensors that claim to be CUDA; kernels compile and are not
launched.

    before_imports(arch)    once, in the fork server's parent, before it imports what the script does
    prepare(arch)           once, thereafter: everything that each fork would pay for again
    catch_up(arch, names)   before a fork: modules that earlier ones had to import
    virtual(arch, watch)    around one candidate
    sticky()                the driver's answer afterwards: 716, or 0

`claims` and `gpu` hold the state; `dispatch` and `function` are the two torch modes that keep up the claim; `cuda`,
`streams`, `host` and `driver` answer for torch.cuda, the rest of torch, and Triton's driver; `operators` is for those
that the script registers; `launcher` stands in for a launch and asks the static rules; `codeless` leaves
machine code out; `unknown` says what values are that no kernel wrote.
"""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from typing import Any, Iterator, List, Optional

from ..gpu_target import gpu_target
from ..launches import launch_arguments
from ..process import own_bug
from ..process.own_bug import Limit
from ..process.patches import Patches
from . import codeless, foreign_options
from .gpu import Gpu

__all__ = ["before_imports", "catch_up", "prepare", "sticky", "virtual"]

_last: Optional[Gpu] = None


def sticky() -> int:
    """The sticky CUDA error that the last candidate ended in, once the host has learnt of it."""
    return _last.sticky if _last is not None else 0


@contextlib.contextmanager
def virtual(arch: int, watch: Any, *, machine_code: bool = True, ends: bool = False) -> Iterator[Gpu]:
    """Make this process see one GPU of that capability. All is put back at the end. Without `machine_code`
    Triton's kernels are compiled to LLVM's IR, and no further. `ends`: whether the GPU's `end` is called."""
    global _last
    gpu = _last = Gpu(arch, watch, ends=ends)
    patches = Patches()
    try:
        with contextlib.ExitStack() as stack:
            if importlib.util.find_spec("triton") is not None:
                _drive(patches, gpu)
                if gpu.target.is_amd:
                    foreign_options.leave_out(patches)
                if not machine_code:
                    codeless.leave(patches)
            patches.set(own_bug, "is_virtual", True)
            if importlib.util.find_spec("torch") is not None:
                _tensors(patches, gpu, stack)
            yield gpu
    finally:
        patches.undo()


def _drive(patches: Patches, gpu: Gpu) -> None:
    import triton.compiler  # noqa: F401
    from triton.runtime import driver

    from .driver import VirtualDriver

    config: Any = driver
    config = getattr(config, "driver", config)  # the module `triton.runtime.driver` or the DriverConfig in it
    patches.set(config, "_active" if hasattr(config, "_active") else "active", VirtualDriver(gpu.arch, gpu))
    # Triton remembers the shared memory of "device 0" for the life of the process.
    limit: Any = getattr(sys.modules["triton.compiler.compiler"], "max_shared_mem", None)
    if hasattr(limit, "cache_clear"):
        patches.on_undo(limit.cache_clear)
        limit.cache_clear()


def _tensors(patches: Patches, gpu: Gpu, stack: contextlib.ExitStack) -> None:
    from . import compiled, content, cuda, distributed, host, inductor, operators
    from .claims import Claims
    from .evaluation import tensor_of
    from .modes import modes
    from .pinned_copies import PinnedCopies

    claims = gpu.claims = Claims()
    gpu.copies = PinnedCopies(gpu)

    def word(tensor: Any) -> str:
        return content.word(claims, tensor_of(tensor))

    patches.set(gpu.watch, "describe", lambda value: launch_arguments.describe(value, word))
    compiled.patch(patches, gpu)
    cuda.patch(patches, gpu)
    distributed.patch(patches)
    host.patch(patches, gpu)
    inductor.patch(patches, gpu)
    operators.patch(patches)
    _triton_testing(patches, gpu)
    stack.enter_context(modes(gpu))


def _triton_testing(patches: Patches, gpu: Gpu) -> None:
    if importlib.util.find_spec("triton") is None:
        return
    import torch
    import triton.testing

    from .driver import VirtualDriver

    testing: Any = triton.testing
    bench = VirtualDriver(gpu.arch, gpu).bench
    for name in ("do_bench", "do_bench_cudagraph"):
        patches.answer(testing, name, bench)
    if hasattr(testing, "assert_close"):
        patches.answer(
            testing, "assert_close", lambda x, y, *a, **k: torch.testing.assert_close(x, y, check_dtype=False)
        )


def before_imports(arch: int) -> None:
    """Modules that register operators with torch must find ours there, for good: the forks do not import them again.
    So must those that ask at import for which vendor torch was built."""
    if importlib.util.find_spec("torch") is not None:
        from . import cuda, operators

        operators.patch(Patches())
        if gpu_target(arch).is_amd:
            cuda.say_version(setattr, gpu_target(arch))


def prepare(arch: int, *, operations: bool = True) -> None:
    """Pay once for what every fork would pay again. Touches no CUDA; a no-op for what is not installed."""
    from . import warm_up

    warm_up.up(virtual, arch, operations=operations)


def catch_up(arch: int, missing: List[str]) -> None:
    """Pay, too, for the modules that forks have turned out to need since then."""
    from .. import late_imports
    from ..launches.launch_log import LaunchLog
    from . import accelerator

    with virtual(arch, LaunchLog(frozenset())):
        late_imports.catch_up(missing)
        if late_imports.INDUCTOR in missing:
            with contextlib.suppress(Limit):  # which the child tells that needs it
                accelerator.build()

"""What the first candidate of a process pays and a later one does not, done ahead in the fork server's parent.

The first virtual operation imports parts of torch, the first compile hashes libtriton and sets up LLVM (0.4 s): after
a fork each child would do it again.
"""

from __future__ import annotations

import gc
import importlib.util
import linecache
import os
import tempfile
from typing import Any, Callable, ContextManager, Dict

from ..process import environment

_NAME = "<shrinkray warm-up>"
_KERNEL = """\
import triton, triton.language as tl
@triton.jit
def warm(x, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)
"""


def up(virtual: Callable[..., ContextManager[Any]], arch: int, *, operations: bool = True) -> None:
    """Run a little of everything on the `virtual` GPU of that capability. `operations` also warms torch; not before a
    fork that will use a real GPU, since `backward` counts the devices and so starts CUDA."""
    from ..launches.launch_log import LaunchLog

    has_torch = importlib.util.find_spec("torch") is not None
    if has_torch:
        import torch

        torch.set_num_threads(1)  # a child forked after a parallel operation hangs at its first
        random = torch.get_rng_state()
    watch = LaunchLog(frozenset({"static:bounds"}))  # so that the launch is followed, too
    watch.install()
    with virtual(arch, watch):
        if has_torch and operations:
            _operations()
        if importlib.util.find_spec("triton") is not None:
            _compile(has_torch)
    watch.uninstall()
    # Triton 3.0 leaves its MLIR context, which owns threads, to the garbage collector: a child that collects it waits
    # for ever for threads that it does not have.
    gc.collect()
    if has_torch:
        torch.set_rng_state(random)


def _operations() -> None:
    import torch

    x = torch.randn(4, 4, device="cuda", requires_grad=True)
    (x.to(torch.float16).float() @ x.cuda()).sum().backward()
    torch.nn.Linear(2, 2).cuda()(torch.ones(1, 2, device="cuda")).tolist()
    repr(x)
    torch.cuda.synchronize()


def _compile(has_torch: bool) -> None:
    """Into a cache of its own: a hit would warm nothing."""
    import triton

    linecache.cache[_NAME] = (len(_KERNEL), None, _KERNEL.splitlines(True), _NAME)
    space: Dict[str, Any] = {"__name__": "shrinkray_warm_up"}
    restore = environment.restorer(["TRITON_CACHE_DIR"])
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TRITON_CACHE_DIR"] = folder
        try:
            exec(compile(_KERNEL, _NAME, "exec"), space)
            if has_torch:
                import torch

                space["warm"][(1,)](torch.empty(16, device="cuda"), 16, B=16)
            else:
                space["warm"].warmup(triton.runtime.jit.MockTensor("fp32"), 16, B=16, grid=(1,))
        finally:
            del linecache.cache[_NAME]
            restore()

"""Keys `driver_error` and `virtual`: the sticky CUDA error that the candidate leaves, on the real GPU or the virtual
one."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Iterator

from ..process import device
from .candidate import WatchedCandidate


@contextmanager
def watch(candidate: WatchedCandidate) -> Iterator[None]:
    """Put up the virtual GPU, if the candidate is to see one, and ask the driver afterwards."""
    candidate.report["virtual"] = candidate.arch is not None
    if candidate.arch is None:
        yield
        code = device.sticky()
        candidate.report["driver_error"] = device.wait_for_dump(code) if device.dumping() else code
        return
    from .. import vgpu

    machine_code = candidate.request["machine_code"]
    with vgpu.virtual(candidate.arch, candidate.log, machine_code=machine_code, ends=True) as gpu:
        candidate.sees(gpu)
        yield
    candidate.report["driver_error"] = vgpu.sticky()

"""Options of a launch that NVIDIA's backend alone has, on AMD's virtual GPU: left out there, so that what was written
for the one compiles for the other. On AMD's own GPU Triton refuses such a launch; none is in a result, since a launch
without it does the same here.
"""

from __future__ import annotations

import dataclasses
import sys
from typing import Any, Callable, FrozenSet

from ..process.patches import Patches

CLUSTER = "num_ctas"
"""Both know it; more than 1 is refused where the hardware has no clusters."""


def leave_out(patches: Patches) -> None:
    """Until the patches are undone. A no-op where this Triton has no backend of AMD's."""
    from triton.backends import backends

    hip, cuda = (getattr(backends.get(name), "compiler", None) for name in ("amd", "nvidia"))
    if hip is None or cuda is None or "parse_options" not in vars(hip):
        return
    foreign = _fields(cuda, "CUDAOptions") - _fields(hip, "HIPOptions")

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def parse_options(backend: Any, opts: Any) -> Any:
            for name in foreign.intersection(opts):  # in place: whoever calls goes through all of them afterwards
                del opts[name]
            if opts.get(CLUSTER, 1) > 1 and backend.target.arch != "gfx1250":
                del opts[CLUSTER]
            return original(backend, opts)

        return parse_options

    patches.wrap(hip, "parse_options", make)


def _fields(backend: Any, name: str) -> FrozenSet[str]:
    options = getattr(sys.modules[backend.__module__], name, None)
    return frozenset(each.name for each in dataclasses.fields(options)) if options is not None else frozenset()

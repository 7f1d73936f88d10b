"""The architectures that `--arch` may name for IR: NVIDIA's as for programs, and AMD's, for which Triton compiles."""

from __future__ import annotations

import difflib

from shrinkray_gpu.device import architectures
from shrinkray_gpu.errors import UsageError

AMD = (
    "gfx906 gfx908 gfx90a gfx940 gfx941 gfx942 gfx950 gfx1010 gfx1030 gfx1100 gfx1101 gfx1102 gfx1103 gfx1150 gfx1151 "
    "gfx1152 gfx1153 gfx1200 gfx1201 gfx1250"
).split()


def check_target(arch: str) -> None:
    """Raises UsageError for what is no architecture; a release of Triton may know fewer."""
    if arch in AMD or architectures.number(arch) is not None:
        return
    near = difflib.get_close_matches(arch, AMD, n=1)
    hint = f"did you mean {near[0]}?" if near else "name one as sm_90 or gfx942"
    raise UsageError(f"--arch {arch}: no such architecture; {hint}")

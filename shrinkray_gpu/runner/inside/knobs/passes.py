"""Passes of Triton's that a kernel may do without, by the functions that add them: `passes.ttgpuir.add_pipeline`.

What lowers the code, or keeps it right on a device (fences, barriers, shared memory), is none of them.
"""

from __future__ import annotations

import os
import re
import sys
from types import ModuleType
from typing import Any, Iterator, Tuple

KNOB = "skip"
"""The pass that is left out. Empty: none, and each that is begun is told, see `SAID`."""
SAID = "shrinkray_gpu: Triton begins "
"""On standard error, so that it is known of a compiler that dies, too."""
_ROOMS = ("common", "ttir", "ttgpuir", "ttnvgpuir", "hopper")
_NEEDED = re.compile(
    r"convert|inliner|alloc|lower|rewrite|fence|barrier|membar|to_llvm|plan_cta|cga|cta_locality|token|sanitizer"
    r"|consan|symbol_dce|decompos|check|clc|shared_memory|wait|_ws_|nvgpu_to"
)


def optional() -> Iterator[Tuple[Any, str]]:
    """Where each function stands that adds such a pass, and its name."""
    compiler: Any = sys.modules["triton.backends.nvidia.compiler"]
    for home in (compiler.passes, compiler.nvidia.passes):
        for room in _ROOMS:
            found = vars(home).get(room)
            for name in [*vars(found)] if isinstance(found, ModuleType) else []:
                if name.startswith("add_") and (name == "add_hoist_tmem_alloc" or not _NEEDED.search(name)):
                    yield found, name


def tell(name: str) -> None:
    os.write(2, ("%s%s\n" % (SAID, name)).encode())

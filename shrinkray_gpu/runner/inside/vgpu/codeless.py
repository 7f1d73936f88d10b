"""Kernels that are compiled to LLVM's IR and no further: the static rule reads Triton's, and nothing here runs machine
code.

What Triton's own passes say and find out (a refusal, the shared and the scratch memory) stays. libdevice, LLVM's
passes, PTX and ptxas took 115 of the 147 ms in which the corpus case's kernel is compiled (one core, Triton 3.7.1).
What is left out must not be found by a run that needs it, wherever the script has its cache: such kernels have a key
of their own.
"""

from __future__ import annotations

import re
from typing import Any

from ..process.patches import Patches

NOTHING = "no machine code: nothing runs it here"
_KERNELS = (
    re.compile(r'^define [^@\n]*\bptx_kernel\b[^@\n]* @"?([\w.$]+)"?\(', re.MULTILINE),
    re.compile(r'@"?([\w.$]+)"?, !"kernel", i32 1\}'),  # Triton before 3.4: its LLVM had no word for it
)


def leave(patches: Patches) -> None:
    """Leave machine code out until the patches are undone. A no-op where this Triton has another way to it."""
    from triton._C import libtriton
    from triton.backends import backends

    llvm: Any = getattr(libtriton, "llvm", None)
    backend: Any = getattr(backends.get("nvidia"), "compiler", None)
    if not all(hasattr(llvm, name) for name in ("link_extern_libs", "optimize_module", "translate_to_asm")):
        return
    if not hasattr(backend, "make_cubin") or not hasattr(backend, "hash"):
        return
    translate = llvm.translate_to_asm

    def named(ir: str, *args: Any, **options: Any) -> Any:
        """As little PTX as Triton reads: the name of the kernel."""
        found = next(filter(None, (kernels.findall(ir) for kernels in _KERNELS)), [])
        return ".visible .entry %s( // %s" % (found[0], NOTHING) if len(found) == 1 else translate(ir, *args, **options)

    for name in ("link_extern_libs", "optimize_module"):
        patches.set(llvm, name, lambda *args, **options: None)
    patches.set(llvm, "translate_to_asm", named)
    patches.set(backend, "make_cubin", staticmethod(lambda *args, **kwargs: NOTHING.encode()))
    key = backend.hash
    patches.set(backend, "hash", lambda self: "%s without machine code" % key(self))

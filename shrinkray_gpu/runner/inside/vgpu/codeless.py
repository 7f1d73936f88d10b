"""Kernels that are compiled to LLVM's IR and no further: the static rule reads Triton's, and nothing here runs machine
code.

What Triton's own passes say and find out (a refusal, the shared and the scratch memory) stays. libdevice, LLVM's
passes, PTX and ptxas took 115 of the 147 ms in which the corpus case's kernel is compiled (one core, Triton 3.7.1).
What is left out must not be found by a run that needs it, wherever the script has its cache: such kernels have a key
of their own.
"""

from __future__ import annotations

import re
from typing import Any, Callable

from ..process.patches import Patches

NOTHING = "no machine code: nothing runs it here"
_KERNELS = (
    re.compile(r'^define [^@\n]*\bptx_kernel\b[^@\n]* @"?([\w.$]+)"?\(', re.MULTILINE),
    re.compile(r'@"?([\w.$]+)"?, !"kernel", i32 1\}'),  # Triton before 3.4: its LLVM had no word for it
)


_HIP_KERNEL = re.compile(r"^define [^@\n]*\bamdgpu_kernel\b", re.MULTILINE)
_MAKERS = {"nvidia": "make_cubin", "amd": "make_hsaco"}
"""What makes machine code of the assembler's text, in each backend of Triton's."""
_UNUSED = ("link_extern_libs", "optimize_module", "translate_to_mir", "dump_sched_dag")
"""What LLVM is asked for beside that text; the last two by AMD's backend."""


def leave(patches: Patches) -> None:
    """Leave machine code out until the patches are undone. A no-op where this Triton has another way to it."""
    from triton._C import libtriton
    from triton.backends import backends

    llvm: Any = getattr(libtriton, "llvm", None)
    if not all(hasattr(llvm, name) for name in (*_UNUSED[:2], "translate_to_asm")):
        return
    found: Any = [(getattr(backends.get(name), "compiler", None), maker) for name, maker in _MAKERS.items()]
    compilers = [(one, maker) for one, maker in found if hasattr(one, maker) and hasattr(one, "hash")]
    if not compilers:
        return
    translate = llvm.translate_to_asm

    def named(ir: str, *args: Any, **options: Any) -> Any:
        """As little text as Triton reads: the name of NVIDIA's kernel."""
        if _HIP_KERNEL.search(ir):
            return "; " + NOTHING
        found = next(filter(None, (kernels.findall(ir) for kernels in _KERNELS)), [])
        return ".visible .entry %s( // %s" % (found[0], NOTHING) if len(found) == 1 else translate(ir, *args, **options)

    for name in filter(lambda name: hasattr(llvm, name), _UNUSED):
        patches.set(llvm, name, lambda *args, **options: None)
    patches.set(llvm, "translate_to_asm", named)
    for compiler, maker in compilers:
        patches.set(compiler, maker, staticmethod(lambda *args, **kwargs: NOTHING.encode()))
        patches.set(compiler, "hash", _keyed(compiler.hash))


def _keyed(key: Callable[[Any], str]) -> Callable[[Any], str]:
    return lambda self: "%s without machine code" % key(self)

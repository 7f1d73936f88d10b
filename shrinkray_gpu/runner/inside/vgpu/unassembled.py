"""Kernels that are compiled to PTX and no further: the static rule reads the IR, and nothing here runs machine code.

ptxas takes a third of a compile of some 100 ms. What is left out must not be found by a run that needs it, wherever the
script has its cache: such kernels have a key of their own.
"""

from __future__ import annotations

from typing import Any

from .patches import Patches

NOTHING = b"no machine code: ptxas was left out"


def leave(patches: Patches) -> None:
    """Leave ptxas out until the patches are undone. A no-op where this Triton has another way to machine code."""
    from triton.backends import backends

    backend: Any = getattr(backends.get("nvidia"), "compiler", None)
    if not hasattr(backend, "make_cubin") or not hasattr(backend, "hash"):
        return
    patches.set(backend, "make_cubin", staticmethod(lambda *args, **kwargs: NOTHING))
    named = backend.hash
    patches.set(backend, "hash", lambda self: "%s without ptxas" % named(self))

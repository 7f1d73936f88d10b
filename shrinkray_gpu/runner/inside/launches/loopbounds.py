"""A scalar of Triton's interpreter as a bound of `range`, with NumPy 2.5.

Up to 3.6 the interpreter takes its value by `int` of an array with one element, which NumPy 2.5 refuses: no kernel runs
there whose loop has a bound that is an argument. Triton 3.7 asks as is done here.

For runs that we have interpreted. A program that asks for the interpreter itself fails so for its user, too.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

from ..process import import_hook


def mend() -> None:
    """Once for a process, from the import of the interpreter on."""
    import_hook.when_imported("triton.runtime.interpreter", _mend)


def _mend() -> None:
    interpreter: Any = sys.modules["triton.runtime.interpreter"]
    plain = getattr(interpreter, "_patch_lang_tensor", None)
    if plain is None or hasattr(plain, "__wrapped__") or not _refused(interpreter.np):
        return

    @functools.wraps(plain)
    def patched(tensor: Any, *scope: Any) -> None:
        plain(tensor, *scope)  # which puts back by itself what was there before
        tensor.__index__ = lambda value: int(value.handle.data.item())

    interpreter._patch_lang_tensor = patched


def _refused(numpy: Any) -> bool:
    try:
        int(numpy.zeros(1))
    except TypeError:
        return True
    return False

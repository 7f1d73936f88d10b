"""A module of IR between text and `libtriton`'s object."""

from __future__ import annotations

import os
import re
import tempfile
from typing import Any

_ALIAS = re.compile(r"^#loc\d* = loc\(.*\)\n", re.M)
_LOCATION = re.compile(r'(?P<kept>"(?:[^"\\]|\\.)*")| loc\((?:[^()"]|"(?:[^"\\]|\\.)*"|\([^()]*\))*\)')
MARK = "llvm.data_layout"
"""An attribute that must be a string. MLIR prints a module that it cannot verify in its generic form, which one small
grammar covers for all dialects; no binding offers that form otherwise. So a module gets this attribute without a
string, and who reads the text takes it away again."""


def parsed(lib: Any, ctx: Any, text: str, folder: str) -> Any:
    """The module of this text. Raises RuntimeError, with the parser's words on standard error."""
    fd, path = tempfile.mkstemp(suffix=".mlir", dir=folder)
    try:
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            file.write(text)
        module = lib.ir.parse_mlir_module(path, ctx)
        module.context = ctx  # as Triton's own code does: its stages ask for it
        return module
    finally:
        os.unlink(path)


def pretty(module: Any) -> str:
    """Its text as people write it, without locations."""
    printed: str = module.str_nodebug() if hasattr(module, "str_nodebug") else without_locations(str(module))
    return printed


def without_locations(printed: str) -> str:
    """What releases before 3.2 print, as later ones do. Words in quotes stay as they are."""
    return _LOCATION.sub(lambda found: found["kept"] or "", _ALIAS.sub("", printed))


def generic(lib: Any, ctx: Any, module: Any) -> str:
    """Its text in MLIR's generic form, with MARK on the module. The module is of no use any more."""
    builder = lib.ir.builder(ctx)
    module.set_attr(MARK, builder.get_int32_attr(0))
    return pretty(module)

"""Whether a script reads a global name that nothing in it binds: kernels compiled before would hide that.

Triton's cache key holds a kernel's text and the values of its globals, but not that `tl` is no longer imported: such a
candidate hits the cache, "works" here, and dies of a NameError in a fresh process with an empty cache.
"""

from __future__ import annotations

import builtins
import symtable
from typing import Iterator


def unbound(source: str) -> "set[str]":
    """Global names that are read somewhere and bound nowhere; empty for what does not parse or imports `*`."""
    try:
        top = symtable.symtable(source, "<candidate>", "exec")
    except (SyntaxError, ValueError):
        return set()
    if "import *" in source:
        return set()
    bound = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    read = set()
    for table in _tables(top):
        for symbol in table.get_symbols():
            if table is top or symbol.is_global():
                name = symbol.get_name()
                if symbol.is_assigned() or symbol.is_imported():
                    bound.add(name)
                elif symbol.is_referenced():
                    read.add(name)
    return read - bound - set(dir(builtins)) - {"__file__", "__name__", "__annotations__"}


def _tables(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for child in table.get_children():
        yield from _tables(child)

"""A kernel's start line is fixed, so that editing the host code above it does not compile it again.

Triton's cache key holds the line on which a kernel starts (`JITFunction.starting_line_number`): one import added above
recompiled a matmul. Here every kernel starts on line 1. Lines in compiler messages of the kind `at 5:8` count from the
kernel's first line already and do not change; lines in the IR and the cubin's line table then count from the kernel's
first line (decorators included) too. `lines_before` tells what to add when one is shown to a person; a run that asks
for the true `lines` gets them everywhere, at the price of its own compilations.
"""

from __future__ import annotations

import ast
import re
from typing import Any, Dict, Iterator, List, Match, Optional, Set, Tuple

from .kernelkey import jit_class, referred_to

_HIDDEN = "_true_starting_line_number"
_PLACE = re.compile(r"^(\S+\.py):(\d+):(\d+):", re.MULTILINE)
"""At the head of what MLIR says of an operation."""
_true = False


def tell_truth(true: bool) -> None:
    """Whether kernels start where they really start. To be said before the first one is compiled."""
    global _true
    _true = true


def fix() -> None:
    """Install the fixed line on the class that Triton keeps it on. Idempotent."""
    owner = jit_class()
    if not isinstance(owner.__dict__.get("starting_line_number"), property):
        owner.starting_line_number = property(
            lambda self: start(self) if _true else 1, lambda self, line: self.__dict__.update({_HIDDEN: line})
        )


def start(fn: Any) -> int:
    """The line of the file on which this kernel really starts. Triton's own library was there before `fix`."""
    return int(fn.__dict__.get(_HIDDEN, fn.__dict__.get("starting_line_number", 1)))


def lines_before(source: Any, symbol: Optional[str]) -> Optional[int]:
    """How many lines of the file come before the first that a function's IR counts. `source`: what the kernel was
    compiled from. `symbol`: the function as the IR calls it, empty for the kernel itself. None stands for one of the
    others, nobody knows which; the result is None where that cannot be told."""
    if not _counts_from_one(source):
        return 0
    if symbol == "":
        return start(source.fn) - 1
    fitting = [(len(fn.__name__), start(fn)) for fn in _reachable(source) if symbol and _is_called(fn, symbol)]
    lines = {line for length, line in fitting if length == max(fitting)[0]}
    return lines.pop() - 1 if len(lines) == 1 else None


def with_true_lines(source: Any, printed: str) -> str:
    """What a compiler printed of a kernel, its places in lines of their files. One that may be in either of two
    functions loses its line."""
    if not _counts_from_one(source) or _PLACE.search(printed) is None:
        return printed
    known: Dict[Tuple[str, int, int], Set[int]] = {}
    for fn in _reachable(source):
        for line, column in _places(fn):
            known.setdefault((fn.fn.__code__.co_filename, line, column), set()).add(start(fn) - 1 + line)

    def placed(found: Match[str]) -> str:
        file, line, column = found.group(1), int(found.group(2)), int(found.group(3))
        if not column:  # the kernel as a whole: its helpers are in it by then
            return "%s:%d:0:" % (file, start(source.fn) - 1 + line)
        lines = known.get((file, line, column), set())
        return "%s:%d:%d:" % (file, min(lines), column) if len(lines) == 1 else file + ":"

    return _PLACE.sub(placed, printed)


def _counts_from_one(source: Any) -> bool:
    """Whether lines in the IR count from a function's first: not where the kernel was given as IR, and not up to Triton
    3.4, which looks the true line up for itself."""
    from triton.runtime import jit

    looked_up: Any = getattr(jit, "get_jit_fn_file_line", None)
    by_attribute = looked_up is not None and "starting_line_number" in looked_up.__code__.co_names
    return not _true and by_attribute and getattr(source, "fn", None) is not None


def _places(fn: Any) -> Iterator[Tuple[int, int]]:
    """Line and column of each part of a function, as the IR counts them."""
    from triton.runtime.jit import get_jit_fn_file_line

    before = get_jit_fn_file_line(fn)[1] - 1
    for node in ast.walk(fn.parse()):
        if isinstance(node, (ast.expr, ast.stmt)):
            yield before + node.lineno, node.col_offset


def _is_called(fn: Any, symbol: str) -> bool:
    """Whether the IR may call the function so: `module.name__types`, or without the module."""
    whole = "%s.%s" % (fn.__module__, getattr(fn, "__qualname__", fn.__name__))
    return symbol.startswith((whole + "__", fn.__name__ + "__"))


def _reachable(source: Any) -> Iterator[Any]:
    """The jit functions that a kernel may call: by global names, and those that are passed as constants."""
    constants = getattr(source, "constants", None) or {}
    todo: List[Any] = [source.fn, *(value for value in constants.values() if isinstance(value, jit_class()))]
    seen: List[Any] = []
    while todo:
        fn = todo.pop()
        if not any(fn is each for each in seen):
            seen.append(fn)
            todo += referred_to(fn)
            yield fn

"""Key `values`: of each expression that the request watches, the one simple value that it took; of several the last.

The tool puts `__shrink_saw__(i, value)` around expressions; here is the function behind it.
"""

from __future__ import annotations

import builtins
import os
import sys
from contextlib import contextmanager
from typing import Any, Dict, FrozenSet, Iterator, Optional

from ..process import environment
from ..process.patches import Patches
from .candidate import WatchedCandidate

NAME = "__shrink_saw__"
_ALWAYS = "TRITON_ALWAYS_COMPILE"


@contextmanager
def watch(candidate: WatchedCandidate) -> Iterator[None]:
    """Give the script the function, and Triton too."""
    if not candidate.request["values"]:
        candidate.report["values"] = {}
        yield
        return
    request, setup = candidate.request, candidate.setup
    places = (setup["scratch"], *setup["writable"])
    ours = {*places, *map(os.path.realpath, places), os.path.basename(request["temporary"])}
    seen = SeenValues(frozenset(ours))
    patches = Patches()
    try:
        patches.set(builtins, NAME, seen)
        patches.on_undo(environment.restorer([_ALWAYS]))
        environment.put(_ALWAYS, "1")  # what comes from a cache shows no types
        patches.on_import("triton.compiler.code_generator", lambda module: seen.in_kernels(module, patches))
        yield
    finally:
        patches.undo()
        candidate.report["values"] = seen.found()


class SeenValues:
    """The function behind `__shrink_saw__(i, value)`: remembers the simple values that each expression took.

    Text with a part of `ours`, folders that are there for this reduction only, is no constant of the program.
    """

    SIMPLE = (bool, int, float, str)
    LAST = "last "
    """Stands before the text of a value that was not the only one, or that is longer than a constant."""
    FEW, MANY = 8, 64
    """Members of a constant, and of a value that a call may be given."""
    LONGEST = 2000
    """Characters of the latter."""

    def __init__(self, ours: FrozenSet[str]) -> None:
        self.ours = ours
        self.seen: Dict[int, Optional[str]] = {}
        """In the order in which they were seen last."""
        self.last: Dict[int, Optional[str]] = {}

    def __call__(self, index: int, value: Any) -> Any:
        text = self._text(value, self.FEW)
        before = self.seen.pop(index, text)
        self.seen[index] = text if before == text else None
        self.last[index] = text or self._text(value, self.MANY)
        return value

    def in_kernels(self, module: Any, patches: Patches) -> None:
        """Let Triton take it for one of the builtins of Python that it knows: they get plain numbers for constexprs.
        What they return is a constexpr again in newer releases only, and would become a tensor in older ones."""
        names: Dict[str, Any] = module.CodeGenerator.builtin_namespace
        constexpr = sys.modules["triton.language"].constexpr  # type: ignore[attr-defined]

        def saw(index: int, value: Any) -> Any:
            self(index, value)
            return constexpr(value) if value is None or type(value) in self.SIMPLE else value

        names[NAME] = saw
        patches.on_undo(lambda: names.pop(NAME, None))

    def found(self) -> Dict[int, str]:
        """The texts by number, in the order in which they were seen last. An empty one where there was a value, but no
        simple one; behind `LAST` where there was not one and only one."""
        return {index: text or self._last(index) for index, text in self.seen.items()}

    def _last(self, index: int) -> str:
        text = self.last[index]
        return f"{self.LAST}{text}" if text and len(text) <= self.LONGEST else ""

    def _text(self, value: Any, most: int) -> Optional[str]:
        if type(value) is str and any(place in value for place in self.ours):
            return None
        if value is None or type(value) in self.SIMPLE:
            text = repr(value)
            return text if len(text) <= 80 and value == value and text not in ("inf", "-inf") else None
        if type(value) in (tuple, list) and len(value) <= most:
            parts = [self._text(item, most) for item in value]
            if None in parts:
                return None
            inner = ", ".join(part for part in parts if part is not None)
            if type(value) is list:
                return f"[{inner}]"
            return f"({inner},)" if len(value) == 1 else f"({inner})"
        if type(value) is dict and len(value) <= most and most > self.FEW:
            pairs = [(self._text(key, most), self._text(item, most)) for key, item in value.items()]
            return None if any(None in pair for pair in pairs) else "{" + ", ".join(map("%s: %s".__mod__, pairs)) + "}"
        if type(value).__module__.startswith("triton.language") and hasattr(value, "dtype"):
            return _type_of(value)
        if type(value).__module__ == "torch" and type(value).__name__ == "dtype":
            return str(value)
        return None


def _type_of(value: Any) -> Optional[str]:
    """`<fp32 [2, 32]>` of a value in a kernel."""
    kind = value.type
    scalar = getattr(kind, "scalar", None)
    if scalar is None:
        return None
    shape = [int(getattr(extent, "value", extent)) for extent in getattr(kind, "shape", None) or ()]
    return f"<{scalar} {shape}>"

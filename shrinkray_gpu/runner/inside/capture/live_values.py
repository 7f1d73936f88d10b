"""What a live value is to a kernel that reads it: part of a library, of Triton's language, a jit function, plain."""

from __future__ import annotations

import os
import re
import sys
import types
from typing import Any, Dict, Optional, Tuple

INSTALLED = frozenset({"torch", "triton", "numpy"})
"""What an emitted script may import besides Python's standard library. The tool asks for this very set."""
LIBRARIES = INSTALLED | {"math", "typing", "functools", "operator", "dataclasses", "enum"}
"""Where a kernel's names may come from by an import; code from anywhere else is copied."""
COPIED = ("torch._inductor", "torch._dynamo")
"""Private parts of those, whose jit functions are copied: they move from release to release."""
GLUON = "triton.experimental.gluon"


def is_jit(value: Any) -> bool:
    """Whether it is one of Triton's (or Gluon's) jit functions, or a function that runs while they compile."""
    return any(base.__name__ in ("JITFunction", "JITCallable") for base in type(value).__mro__)


def in_library(path: str) -> bool:
    return path.partition(".")[0] in LIBRARIES and not path.startswith(COPIED)


def is_namespace(value: Any) -> bool:
    """Whether `value.NAME` may stand for a constant or a function: a class of the user's, an object with settings."""
    if isinstance(value, type):
        return not in_library(value.__module__)
    return not (is_simple(value) or is_jit(value) or type(value).__name__ == "constexpr" or callable(value)) and not (
        in_library(type(value).__module__)
    )


def is_refused(name: str, scope: Dict[str, Any]) -> bool:
    """Whether Triton refuses this plain number (or string, ...) of the module in a kernel's body. Then that may be the
    fault, and stays as it is: a `tl.constexpr` in its place would heal it.

    Up to 3.2 an annotation, `N: tl.constexpr = 7`, was enough; from 3.3 on it is not. All have the environment
    variable."""
    if not is_simple(scope[name]):
        return False
    triton: Any = sys.modules.get("triton")
    compilation = getattr(getattr(triton, "knobs", None), "compilation", None)
    asked = os.environ.get("TRITON_ALLOW_NON_CONSTEXPR_GLOBALS", "0") == "1"
    if getattr(compilation, "allow_non_constexpr_globals", asked):
        return False
    numbers = [int(part) for part in re.findall(r"\d+", getattr(triton, "__version__", ""))[:2]]
    annotation = scope.get("__annotations__", {}).get(name)
    return numbers >= [3, 3] or "constexpr" not in getattr(annotation, "__name__", str(annotation))


def is_simple(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, str, bytes, tuple, list))


def public_place(value: Any, name: str) -> Optional[Tuple[str, str]]:
    """The module of a library, and the name there, from which this very object can be imported."""
    home = str(getattr(value, "__module__", ""))
    if not in_library(home) or home == "__main__":
        return None
    leaf = str(getattr(value, "__name__", name))
    for path in ("triton.language", "triton", "torch", home):
        if getattr(sys.modules.get(path), leaf, None) is value:
            return path, leaf
    return None


def is_of_language(module: types.ModuleType, name: str) -> bool:
    """Whether `module.NAME` of a part of Triton's language, such as `math`, is `tl.NAME` too."""
    tl = sys.modules.get("triton.language")
    found = getattr(module, name, None)
    return module.__name__.startswith("triton.language.") and found is not None and getattr(tl, name, None) is found


def in_language(value: Any) -> str:
    """`tl.float32` for that very type, empty for what is none of tl's."""
    tl = sys.modules.get("triton.language")
    if tl is None or type(value).__name__ not in ("dtype", "pointer_type", "block_type"):
        return ""
    for name, found in vars(tl).items():
        if type(found) is type(value) and found == value:
            return "tl." + name
    return ""

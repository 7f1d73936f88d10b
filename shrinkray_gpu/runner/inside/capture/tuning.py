"""Marks launches that are an autotuner's trials: the one that the program asked for is not among them.

Triton's `Autotuner._bench` runs every trial in all of 3.0 to 3.9; Inductor's and Helion's autotuners have doors of
their own. A trial can be the launch that faults all the same: the mark only orders the suspects.
"""

from __future__ import annotations

import threading
from typing import Any, Callable

from ..process.patches import Patches

_here = threading.local()
_HELION = ("benchmark", "benchmark_function", "_benchmark_function")


def now() -> bool:
    """Whether this thread is in a trial."""
    return bool(getattr(_here, "depth", 0))


def trial(original: Callable[..., Any]) -> Callable[..., Any]:
    """The function, whose launches are trials."""

    def run(*args: Any, **kwargs: Any) -> Any:
        _here.depth = getattr(_here, "depth", 0) + 1
        try:
            return original(*args, **kwargs)
        finally:
            _here.depth -= 1

    return run


def install(patches: Patches) -> None:
    """Wrap the autotuners of Triton and Helion, each once it is imported."""

    def triton(_: Any) -> None:
        from triton.runtime.autotuner import Autotuner

        mark(Autotuner, "_bench", patches)

    def helion(module: Any) -> None:
        search = getattr(module, "BaseSearch", None)
        for name in _HELION:
            if search is not None:
                mark(search, name, patches)

    patches.on_import("triton", triton)
    patches.on_import("helion.autotuner.base_search", helion)


def mark(owner: Any, name: str, patches: Patches) -> None:
    """Have this method's launches be trials, where the class has it."""
    if name in vars(owner):
        patches.wrap(owner, name, trial)

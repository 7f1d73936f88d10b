"""A kernel's start line is fixed, so that editing the host code above it does not compile it again.

Triton's cache key holds the line on which a kernel starts (`JITFunction.starting_line_number`): one import added above
recompiled a matmul. Here every kernel starts on line 1. Lines in compiler messages of the kind `at 5:8` count from the
kernel's first line already and do not change; lines in the IR and the cubin's line table then count from the kernel's
first line (decorators included) too. `start(fn)` tells the true line, to add when one is shown to a person; a run that
asks for the true `lines` gets them everywhere, at the price of its own compilations.
"""

from __future__ import annotations

from typing import Any

from .kernelkey import jit_class

_HIDDEN = "_true_starting_line_number"
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
    """The line of the file on which this kernel really starts."""
    return int(fn.__dict__.get(_HIDDEN, 1))

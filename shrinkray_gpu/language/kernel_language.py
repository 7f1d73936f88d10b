"""What a pass may know of a language in which kernels are written: data only, one value a language.

Python embeds these languages: a decorator hands a function to their compiler, and their words are what a module offers.
So a language is known by its module, under whatever name a program imports it, and by the words in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Access:
    """Where the arguments of an access stand that decide which lanes touch memory."""

    mask: int | None = None
    """Position of the mask; None for an access that has none."""
    other: int | None = None
    """Position of the value that masked lanes get; None where no lane gets any."""


@dataclass(frozen=True)
class KernelLanguage:
    """One language, by the names that its own documentation uses."""

    name: str
    module: str
    """The module whose attributes are the words of the language."""
    usual: tuple[str, ...]
    """What programs call the module where its import does not say: behind `from common import *`, in a snippet."""
    package: str
    """The package whose decorators make kernels."""
    makers: frozenset[str]
    """Decorators that hand a function to the compiler."""
    tuners: frozenset[str]
    """Decorators that choose arguments for a launch, above a maker."""
    accesses: Mapping[str, Access]
    """Every function that reads or writes memory."""
    guards: frozenset[str]
    """Keywords of accesses that keep lanes away from memory, or say what these lanes get."""
    ranges: frozenset[str]
    """What a loop in a kernel may go over, besides Python's own range."""
    reductions: frozenset[str]
    """What makes one number of a tile."""
    writable: frozenset[str]
    """Words that passes may write into a kernel; their first arguments mean what they mean in Triton."""
    launch_options: frozenset[str]
    """Keywords of a launch that are options for the compiler or the driver, and no parameters of the kernel."""

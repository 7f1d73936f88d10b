"""The languages in which kernels are written, and what a dotted name means in them.

The names here are those that an import stands for (`triton.language.load`), whatever the program calls them. A name of
unknown origin (`from vllm.triton_utils import tl`) means what it means by custom.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from shrinkray_gpu.language.gluon import GLUON
from shrinkray_gpu.language.kernel_language import Access, KernelLanguage
from shrinkray_gpu.language.triton import TRITON

LANGUAGES = (
    GLUON,  # before Triton, whose package holds it
    TRITON,
)

GUARDS = frozenset().union(*(each.guards for each in LANGUAGES))
REDUCTIONS = frozenset().union(*(each.reductions for each in LANGUAGES))
LAUNCH_OPTIONS = frozenset().union(*(each.launch_options for each in LANGUAGES))
USUAL = frozenset(name for each in LANGUAGES for name in each.usual)
"""What programs call the modules of languages by custom."""
LAST_NAMES = frozenset(each.module.rpartition(".")[2] for each in LANGUAGES)
"""What stands before the last dot where a program writes the module out."""
HANDED_ON = "jit"
"""What makes a kernel whatever package it comes out of."""
_MAKERS = frozenset().union(*(each.makers for each in LANGUAGES))
_TUNERS = frozenset().union(*(each.tuners for each in LANGUAGES))
DECORATORS = _MAKERS | _TUNERS
"""Last names of the decorators without which a function is no kernel of its language."""


def makes_kernel(decorator: str) -> bool:
    """Whether the decorator of this name hands a function to a compiler of kernels. A `jit` of unknown origin counts:
    many packages hand on Triton's, and of a kernel passes expect less than of Python."""
    owner, _, last = decorator.rpartition(".")
    return last == HANDED_ON or any(last in each.makers and _owns(each, owner) for each in LANGUAGES)


def tunes_kernel(decorator: str) -> bool:
    """Whether the decorator of this name stands above kernels, and chooses arguments for their launches."""
    owner, _, word = decorator.rpartition(".")
    return word in _TUNERS and owner in ("", *(each.package for each in LANGUAGES))


def language_of_decorator(decorator: str) -> KernelLanguage:
    """The language of the kernel that this decorator makes; Triton where the name does not say."""
    owner = decorator.rpartition(".")[0]
    return next((each for each in LANGUAGES if _owns(each, owner)), TRITON)


def _owns(language: KernelLanguage, owner: str) -> bool:
    """Whether this is the package of the language or in it, or is called as the package is."""
    return lies_in(owner, language.package) or owner.rpartition(".")[2] == language.package.rpartition(".")[2]


def word(name: str) -> tuple[KernelLanguage, str] | None:
    """The language and its word that a name means: (TRITON, "load") for `triton.language.load`."""
    for each in LANGUAGES:
        if lies_in(name, each.module) and name != each.module:
            return each, name.removeprefix(f"{each.module}.")
    return None


def access(name: str) -> Access | None:
    """What is known of an access with this last name, in whatever language: its mask stands at one place in all."""
    return next((each.accesses[name] for each in LANGUAGES if name in each.accesses), None)


def guard_places(name: str) -> tuple[int, int]:
    """The positions of the mask and of the value that masked lanes get, in an access that has a mask; 0 for none."""
    known = access(name)
    return (known.mask or 0, known.other or 0) if known is not None else (0, 0)


def modules(imported: Mapping[str, str], used: Iterable[str] = ()) -> dict[str, str]:
    """The names by which a program knows the modules of languages, and what they stand for.

    `imported`: each name that an import binds, with what it stands for. `used`: names that the program reads: a usual
    one counts where no import says what it is.
    """
    found = {name: place for name, place in imported.items() if any(place == each.module for each in LANGUAGES)}
    for each in LANGUAGES:
        for name in each.usual:
            if name not in found and name in used and not comes_of_a_language(imported.get(name, "")):
                found[name] = each.module
    return found


def comes_of_a_language(place: str) -> bool:
    """Whether an imported thing comes out of a language's package: then its name says what it is."""
    return any(lies_in(place, each.package) for each in LANGUAGES)


def lies_in(name: str, package: str) -> bool:
    """Whether a dotted name is a package or lies in it."""
    return name == package or name.startswith(f"{package}.")

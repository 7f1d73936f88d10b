"""The table of kernel languages, held against Triton's own modules; names under which programs know them."""

from __future__ import annotations

import importlib
import inspect

import pytest

from shrinkray_gpu.language import languages
from shrinkray_gpu.language.gluon import GLUON
from shrinkray_gpu.language.import_text import import_bindings
from shrinkray_gpu.language.kernel_language import KernelLanguage
from shrinkray_gpu.language.triton import TRITON

EACH = pytest.mark.parametrize("language", languages.LANGUAGES, ids=lambda each: each.name)
OF_HARDWARE = {
    "buffer_load": ("amd.cdna3", "buffer_load"),
    "buffer_store": ("amd.cdna3", "buffer_store"),
    "async_copy_global_to_shared": ("nvidia.ampere.async_copy", "async_copy_global_to_shared"),
}
"""Accesses of Gluon that only one vendor's module has."""


def parameters(function: object) -> list[str]:
    return list(inspect.signature(getattr(function, "fn", function)).parameters)  # type: ignore[arg-type]


def access_in(language: KernelLanguage, name: str) -> object:
    where, word = OF_HARDWARE.get(name, ("", name))
    return getattr(importlib.import_module(f"{language.module}.{where}".rstrip(".")), word)


@EACH
def test_masks_stand_where_the_compiler_looks_for_them(language: KernelLanguage) -> None:
    pytest.importorskip(language.module)
    for name, access in language.accesses.items():
        order = parameters(access_in(language, name))
        assert ("mask" in order) == (access.mask is not None), name
        assert ("other" in order) == (access.other is not None), name
        if access.mask is not None:
            assert order[access.mask] == "mask", name
        if access.other is not None:
            assert order[access.other] == "other", name


@EACH
def test_every_word_is_one_of_the_language(language: KernelLanguage) -> None:
    pytest.importorskip(language.module)
    module = importlib.import_module(language.module)
    words = language.ranges | language.reductions | language.writable
    assert [word for word in sorted(words) if not hasattr(module, word)] == []
    package = importlib.import_module(language.package)
    assert [word for word in sorted(language.makers | language.tuners) if not hasattr(package, word)] == []


def test_an_access_has_its_mask_at_one_place_in_all_languages() -> None:
    for language in languages.LANGUAGES:
        assert {name: languages.access(name) for name in language.accesses} == language.accesses


@pytest.mark.parametrize(
    ("decorator", "makes", "language"),
    [
        ("triton.jit", True, TRITON),
        ("jit", True, TRITON),
        ("vllm.triton_utils.triton.jit", True, TRITON),
        ("triton.experimental.gluon.jit", True, GLUON),
        ("gluon.jit", True, GLUON),
        ("triton.autotune", False, TRITON),
        ("numba.cuda.jit", True, TRITON),
        ("torch.compile", False, TRITON),
    ],
)
def test_what_a_decorator_makes(decorator: str, makes: bool, language: KernelLanguage) -> None:
    assert languages.makes_kernel(decorator) is makes
    assert languages.language_of_decorator(decorator) is language


def test_words_are_known_by_their_module() -> None:
    assert languages.word("triton.language.load") == (TRITON, "load")
    assert languages.word("triton.experimental.gluon.language.load") == (GLUON, "load")
    assert languages.word("triton.languages.load") is None and languages.word("torch.load") is None


@pytest.mark.parametrize(
    ("imports", "names"),
    [
        ("import triton.language as T", {"T": TRITON.module}),
        ("from triton import language as T, jit", {"T": TRITON.module}),
        ("from triton.experimental.gluon import (\n    language as gl,\n)", {"gl": GLUON.module}),
        ("from vllm.triton_utils import tl", {"tl": TRITON.module}),
        ("from common import *", {"tl": TRITON.module}),
        ("import triton.testing as tl", {}),
    ],
)
def test_names_that_a_program_has_for_a_language(imports: str, names: dict[str, str]) -> None:
    used = {"tl"} if "tl" in imports or "*" in imports else set()
    assert languages.modules(import_bindings(imports), used) == names


def test_what_imports_bind() -> None:
    text = "import a.b, c as d\n  from .e import (f,\n  g as h)  # i\nfrom j import k; x = 1\nprint('import nothing')\n"
    assert import_bindings(text) == {"a": "a", "d": "c", "f": ".e.f", "h": ".e.g", "k": "j.k"}

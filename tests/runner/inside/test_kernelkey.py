"""A kernel that a cold process could not compile, or would compile to something else, is not taken from the cache."""

from __future__ import annotations

import pytest

KERNEL = """
import torch
import triton
import triton.language as tl
{before}
@triton.jit
def twice(v{default}):
    return v * {factor}
@triton.jit
def kernel(x):
    {inside}
    tl.store(x + 1, twice(tl.load(x)).to(tl.int32))
x = torch.ones(4, dtype=torch.int32, device="cuda")
{after}
kernel[(1,)](x)
"""


def script(before="", default="", factor="2", inside="pass", after=""):
    return KERNEL.format(before=before, default=default, factor=factor, inside=inside, after=after)


LOST = {
    "the import": (script(), script().replace("import triton.language as tl\n", ""), "tl is not defined"),
    "a constexpr of the helper": (script("F = tl.constexpr(2)", factor="F"), script(factor="F"), "F is not defined"),
    "the kind of a name": (script(), script(after="tl = 3"), "'int' object has no attribute 'store'"),
    "the module behind a name": (script(), script(after="import math as tl"), "has no attribute 'store'"),
    "@triton.jit of the helper": (
        script(),
        script().replace("@triton.jit\ndef twice", "def twice"),
        "Unsupported function referenced",
    ),
    "a member of a module": (
        script("import types; m = types.ModuleType('m'); m.F = tl.constexpr(2)", factor="m.F"),
        script("import types; m = types.ModuleType('m')", factor="m.F"),
        "has no attribute 'F'",
    ),
}


@pytest.mark.parametrize("name", LOST)
def test_a_kernel_that_lost_something_fails_though_its_text_was_compiled_before(play, name):
    good, bad, words = LOST[name]
    assert play(good).error == ""
    seen = play(bad)
    assert seen.exit == 1 and words in seen.printed, seen.printed
    assert not seen.launches


CHANGED = {
    "a constexpr": ("F = tl.constexpr(2)", "F = tl.constexpr(3)", "F"),
    "a dtype": ("T = tl.int8", "T = tl.int64", "tl.full((), 2, T)"),
    "a member of a module": (
        "import types; m = types.ModuleType('m'); m.F = tl.constexpr(2)",
        "import types; m = types.ModuleType('m'); m.F = tl.constexpr(3)",
        "m.F",
    ),
    "a helper under a builtin's name": (
        "@triton.jit\ndef max(v):\n    return v + 1",
        "@triton.jit\ndef max(v):\n    return v + 2",
        "max(v)",
    ),
}


@pytest.mark.parametrize("name", CHANGED)
def test_what_a_name_stands_for_is_part_of_the_key(play, name):
    before, after, factor = CHANGED[name]
    first, second = (play(script(b, factor=factor)) for b in (before, after))
    assert first.error == second.error == ""
    assert first.compiles[0]["ttir_key"] != second.compiles[0]["ttir_key"]


def test_the_default_of_a_helpers_parameter_is_part_of_the_key(play):
    one, two = (play(script(f"F = {n}", default=", f: tl.constexpr = F", factor="f")) for n in (2, 3))
    assert one.error == two.error == ""
    assert one.compiles[0]["ttir_key"] != two.compiles[0]["ttir_key"]


def test_host_variables_named_like_locals_of_the_kernel_do_not_compile_it_again(play):
    inside = "n = 3\n    m = n + 1\n    tl.store(x, m)"
    first = play(script(inside=inside))
    second = play(script(inside=inside, after="n, m, v = torch.ones(1), [print], 'text'"))
    assert first.error == second.error == ""
    assert first.compiles[0]["hash"] == second.compiles[0]["hash"]


def test_a_kernel_that_calls_itself_has_a_key(play):
    seen = play(script(inside="kernel"))
    assert seen.error == "" and seen.compiles[0]["hash"]

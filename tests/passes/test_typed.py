"""Which expressions of a kernel are watched; what becomes of a value whose type a run has seen."""

from __future__ import annotations

from collections.abc import Mapping

from shrinkray_gpu.passes.host import observed
from shrinkray_gpu.passes.kernel import fillings
from shrinkray_gpu.passes.kernel.typed import KernelType, kinds, watchable
from shrinkray_gpu.reduction.program import Program
from shrinkray_gpu.source.tree import source
from tests.passes.offers import offered, program

HEAD = "import triton.language as tl\n@triton.jit\n"


def seen(start: Program, types: Mapping[str, str]) -> dict[int, str]:
    """As a run tells them: texts of types by number."""
    nodes = watchable(start)
    return {number: types[source(start, node)] for number, node in enumerate(nodes) if source(start, node) in types}


def knowing(find, types: Mapping[str, str]):  # type: ignore[no-untyped-def]
    return lambda start: find(start, seen(start, types))


def test_what_is_no_value_is_not_watched() -> None:
    start = program(
        HEAD + "def k(x, B: tl.constexpr):\n    for i in range(B // 2):\n        tl.store(x + i, -i)\n    return [B]\n"
    )
    assert [source(start, node) for node in watchable(start)] == ["B // 2", "x + i", "-i"]


def test_the_host_is_numbered_as_before() -> None:
    start = program(HEAD + "def k(x):\n    tl.store(x, x + 1)\nn = m * 2\nk[(1,)](n)\n")
    host = observed.watchable(start)
    assert [source(start, node) for node in host] == ["m * 2", "m", "n"]
    assert watchable(start)[: len(host)] == host
    kernel_values = {len(host): "<int32 []>"}
    assert list(observed.find(start, kernel_values)) == []


def test_kinds_in_the_words_of_tritons_language() -> None:
    start = program(HEAD + "def k(x):\n    a = f(x)\n    b = g(a)\n    c = h(a)\n")
    found = kinds(start, seen(start, {"f(x)": "<fp8e4nv [2, 32]>", "g(a)": "<bf16 []>", "h(a)": "<pointer<fp32> []>"}))
    assert {source(start, node): kind for node, kind in found.items()} == {
        "f(x)": KernelType("float8e4nv", (2, 32)),
        "g(a)": KernelType("bfloat16", ()),
        "h(a)": KernelType("pointer<fp32>", ()),
    }
    assert [kind.plain for kind in found.values()] == [True, True, False]


def test_a_block_of_zeros_with_all_that_only_the_value_used() -> None:
    text = HEAD + (
        "def k(x, y, n):\n    offs = tl.arange(0, 16)\n    inside = offs < n\n"
        "    v = tl.load(x + offs, mask=inside)\n    tl.store(y, tl.gather(v, v, 0))\n"
        "k[(1,)](torch.zeros(16), out, 16)\n"
    )
    want = HEAD + ("def k(y):\n    v = tl.zeros([16], tl.float32)\n    tl.store(y, tl.gather(v, v, 0))\nk[(1,)](out)\n")
    assert offered(knowing(fillings.find, {"tl.load(x + offs, mask=inside)": "<fp32 [16]>"}), text, want)


def test_a_number_of_its_type() -> None:
    text = HEAD + "def k():\n    count = 0\n    for i in range(2):\n        count += tl.sum(tl.arange(0, 2) * 1.5)\n"
    want = HEAD + "def k():\n    count = 0\n    for i in range(2):\n        count += 1.0\n"
    assert offered(knowing(fillings.find, {"tl.sum(tl.arange(0, 2) * 1.5)": "<fp32 []>"}), text, want)


def test_zeros_have_the_type_of_the_value_and_zeros_stay_as_they_are() -> None:
    text = HEAD + "def k(x):\n    tl.topk(tl.load(x + tl.arange(0, 2)).to(tl.float32) * 2.5, 1)\n"
    want = HEAD + "def k():\n    tl.topk(tl.zeros([2], tl.float32), 1)\n"
    types = {
        "tl.load(x + tl.arange(0, 2)).to(tl.float32) * 2.5": "<fp32 [2]>",
        "tl.zeros([2], tl.float32)": "<fp32 [2]>",
    }
    assert offered(knowing(fillings.find, types), text, want)
    assert not list(knowing(fillings.find, types)(program(want)))


def test_what_something_else_uses_stays() -> None:
    text = HEAD + "def k(x, y):\n    p = x + tl.arange(0, 16)\n    tl.store(y, tl.load(p) + tl.load(p + 1))\n"
    assert not list(knowing(fillings.find, {"tl.load(p)": "<int8 [16]>"})(program(text))), "zeros are longer than that"


def test_a_pointer_has_no_constant() -> None:
    text = HEAD + "def k(x, y):\n    p = x + tl.arange(0, 16) * 4 + tl.arange(0, 16)\n    tl.store(p, 0)\n"
    types = {"x + tl.arange(0, 16) * 4 + tl.arange(0, 16)": "<pointer<fp32> [16]>"}
    assert not list(knowing(fillings.find, types)(program(text)))

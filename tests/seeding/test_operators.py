"""Each operator plants its fault in a kernel of ours, and its inverse gives the text back."""

from __future__ import annotations

import pytest
from seeding.operators import OPERATORS, by_name
from seeding.oracles import ORACLES
from seeding.places import Source

KERNEL = """\
import triton
import triton.language as tl

@triton.jit
def k(x, y, n, s, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros([BLOCK, BLOCK], dtype=tl.float32)
    total = 0.0
    for j in range(n):
        a = tl.load(x + i[:, None] * s + i[None, :], mask=i[:, None] < n, other=0.0)
        acc += tl.dot(a, tl.trans(a))
        total += 1.0
    tl.debug_barrier()
    tl.atomic_add(y + i, tl.sum(acc, axis=1) + total, mask=i < n)

def launch(x, y):
    grid = (triton.cdiv(x.shape[0], 16),)
    k[grid](x, y, x.stride(0), x.stride(1), BLOCK=16, num_stages=3)
"""

SAID = {
    "extent": ("tl.arange(0, BLOCK)", "tl.arange(0, BLOCK + 1)"),
    "axis": ("i[:, None]", "i[None, :]"),
    "reduced_axis": ("tl.sum(acc, axis=1)", "tl.sum(acc, axis=0)"),
    "transpose": ("tl.trans(a)", "a"),
    "dot_dtype": ("tl.dot(a, tl.trans(a))", "tl.dot(a.to(tl.float16), tl.trans(a))"),
    "index_dtype": ("tl.arange(0, BLOCK)", "tl.arange(0, BLOCK).to(tl.float32)"),
    "carried": (
        "acc = tl.zeros([BLOCK, BLOCK], dtype=tl.float32)",
        "acc = tl.zeros([BLOCK, BLOCK], dtype=tl.int32)",
    ),
    "mask_of_other": ("mask=i[:, None] < n, other=0.0)", "other=0.0)"),
    "constexpr": ("BLOCK: tl.constexpr", "BLOCK: int"),
    "stages": ("num_stages=3", "num_stages=32"),
    "mask": (", mask=i[:, None] < n, other=0.0)", ")"),
    "bound": ("i[:, None] < n", "i[:, None] <= n"),
    "narrow": ("tl.program_id(0).to(tl.int64)", "tl.program_id(0)"),
    "strides": ("x.stride(0), x.stride(1)", "x.stride(1), x.stride(0)"),
    "grid": ("triton.cdiv(x.shape[0], 16)", "triton.cdiv(x.shape[0], 16) + 1"),
    "atomic": (
        "tl.atomic_add(y + i, tl.sum(acc, axis=1) + total, mask=i < n)",
        "tl.store(y + i, tl.load(y + i, mask=i < n) + tl.sum(acc, axis=1) + total, mask=i < n)",
    ),
    "barrier": ("tl.debug_barrier()", "None"),
}


@pytest.mark.parametrize("name", SAID)
def test_plants_one_fault(name: str) -> None:
    right, wrong = SAID[name]
    source = Source(KERNEL)
    texts = [source.with_edits([edit]) for edit in by_name(name).plants(source)]
    assert KERNEL.replace(right, wrong, 1) in texts


@pytest.mark.parametrize("name", [name for name in SAID if name not in ("mask", "mask_of_other", "atomic", "barrier")])
def test_the_inverse_gives_the_text_back(name: str) -> None:
    right, wrong = SAID[name]
    source, faulty = Source(KERNEL), KERNEL.replace(right, wrong, 1)
    planted = next(edit for edit in by_name(name).plants(source) if source.with_edits([edit]) == faulty)
    mended = [Source(faulty).with_edits([edit]) for edit in by_name(name).mends(Source(faulty), planted)]
    assert _plain(KERNEL) in [_plain(text) for text in mended]


def test_a_mask_comes_back() -> None:
    source = Source(KERNEL)
    planted = next(by_name("mask_of_other").plants(source))
    mended = [edit.new for edit in by_name("mask_of_other").mends(Source(source.with_edits([planted])), planted)]
    assert "tl.load(x + i[:, None] * s + i[None, :], other=0.0, mask=i[:, None] < n)" in mended
    assert "tl.load(x + i[:, None] * s + i[None, :], other=0.0, mask=True)" in mended


def test_a_mask_whose_names_are_gone_keeps_the_index_below_an_extent_of_the_host() -> None:
    planted = next(by_name("mask").plants(Source(KERNEL)))
    kernel = "import triton.language as tl\n@triton.jit\ndef kernel(p):\n    at = p + tl.arange(0, 8)\n"
    repro = Source(f"{kernel}    tl.load(at + 1)\nkernel[(1,)](torch.zeros((2, 3)))\n")
    mended = [edit.new for edit in by_name("mask").mends(repro, planted)]
    index = "((1) + (tl.arange(0, 8)))"
    assert mended == [f"tl.load(at + 1, mask=({index} >= 0) & ({index} < {extent}))" for extent in (6, 3, 2)]
    moving = Source(f"{kernel}    at += 1\n    tl.load(at + 1)\nkernel[(1,)](torch.zeros((2, 3)))\n")
    assert list(by_name("mask").mends(moving, planted)) == []


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("1, 16, 16, BLOCK=n", "16, 1, 16, BLOCK=n"), ("a=1, b=16", "a=16, b=1"), ("b=16, a=1", "b=1, a=16")],
)
def test_strides_that_a_lifted_launch_has_as_numbers_change_places(wrong: str, right: str) -> None:
    planted = next(by_name("strides").plants(Source(KERNEL)))
    [mended] = by_name("strides").mends(Source(f"k[(2,)](x, {wrong})\n"), planted)
    assert mended.new == f"k[(2,)](x, {right})"


@pytest.mark.parametrize(
    ("imported", "name"), [("import triton.language as T", "T"), ("import triton", "triton.language")]
)
def test_a_constexpr_is_named_as_the_repro_can(imported: str, name: str) -> None:
    planted = next(by_name("constexpr").plants(Source(KERNEL)))
    repro = Source(f"{imported}\n@triton.jit\ndef kernel(n):\n    n\n")
    assert [edit.new for edit in by_name("constexpr").mends(repro, planted)] == [f"n: {name}.constexpr"]


def test_a_folded_extent_is_one_less() -> None:
    planted = next(by_name("extent").plants(Source(KERNEL)))
    repro = Source("import triton.language as tl\n@triton.jit\ndef kernel():\n    tl.arange(0, 5)\n")
    assert [edit.new for edit in by_name("extent").mends(repro, planted)] == ["tl.arange(0, 4)"]


def test_the_host_is_left_alone_by_what_is_for_kernels() -> None:
    source = Source("def launch(x):\n    return tl.arange(0, 4)\n")
    assert [edit for one in OPERATORS if one.kernel for edit in one.plants(source)] == []


def test_every_operator_has_an_oracle() -> None:
    assert {one.oracle for one in OPERATORS} <= set(ORACLES)
    assert all(each.exists for each in ORACLES.values())


def _plain(text: str) -> str:
    return text.replace("(tl.program_id(0)).to", "tl.program_id(0).to")

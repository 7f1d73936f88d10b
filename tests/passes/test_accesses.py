from __future__ import annotations

from shrinkray_gpu.passes.kernel import accesses
from shrinkray_gpu.reduction.rendering.render import render
from tests.passes.offers import offered, program, results

HEAD = "@triton.jit\ndef kernel(x, out, n):\n"


def test_a_tile_is_stored_as_its_sum() -> None:
    source = HEAD + "    tl.store(out + rows[:, None] * n + cols, a + b, mask=rows[:, None] < n)\n"
    assert offered(accesses.find, source, HEAD + "    tl.store(out, tl.sum(a + b))\n")


def test_a_load_of_the_pointer_itself() -> None:
    source = HEAD + "    y = tl.load(x + offsets, mask=offsets < n, other=0.0)\n"
    assert offered(accesses.find, source, HEAD + "    y = tl.load(x)\n")
    assert results(accesses.find, HEAD + "    y = tl.load(x)\n") == []


def test_no_guard_is_lost() -> None:
    start = program(HEAD + "    tl.store(out + rows, tl.load(x + rows, mask=rows < n, other=0.0), mask=rows < n)\n")
    for edit in accesses.find(start):
        assert render(start, [edit]).size.guards == start.size.guards, edit.what


def test_arguments_by_position() -> None:
    source = HEAD + "    d = tl.make_tensor_descriptor(x, shape=[n], strides=[1], block_shape=[16])\n"
    assert offered(accesses.find, source, HEAD + "    d = tl.make_tensor_descriptor(x, [n], [1], [16])\n")
    assert results(accesses.find, "f(a, b=1)\n") == []  # host code is called in its own ways

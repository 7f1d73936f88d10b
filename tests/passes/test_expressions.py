"""An expression becomes one of its parts, or a plain constant."""

from __future__ import annotations

import pytest

from shrinkray_gpu.passes.python.expressions import MOST, find
from shrinkray_gpu.reduction.edit import Replace
from tests.passes.offers import offered, program, results, tidy


@pytest.mark.parametrize(
    ("source", "want"),
    [
        ("y = a + b * c", ["y = a", "y = b * c", "y = a + b", "y = a + c", "y = 0", "y = None"]),
        ("y = p if c else q", ["y = p", "y = q", "y = p if True else q"]),
        ("y = x.float().sum(1)", ["y = x.float()", "y = x.sum(1)", "y = x.float().sum()"]),
        ("y = foo(bar(1), z)", ["y = bar(1)", "y = z", "y = foo()", "y = foo(bar(1))", "y = foo(z)", "y = foo(1, z)"]),
        ("cast.undo(*cast(), **options)", ["cast()"]),
        ("y = xs[i + 1]", ["y = xs", "y = xs[i]", "y = xs[1]"]),
        ("y = -x", ["y = x"]),
        ("y = x.T", ["y = x"]),
        ("y = f'{a}: {b:.2f}'", ["y = ''", "y = a", "y = b"]),
        ("f'loss {x.item():.6f}'", ["x.item()"]),
        ("if a and b: f()", ["if a: f()", "if True: f()", "if False: f()"]),
        ("y = (lambda: a + b)()", ["y = a + b"]),
        ("f(a, b=c)(d)", ["f(a)(d)", "f()(d)"]),
        ("y = s * (a + b)", ["y = s * a", "y = a + b"]),
        ("y = f([a, 2, 3])", ["y = f([a])", "y = f([a, 2])", "y = f([2, 3])"]),
    ],
)
def test_offers(source: str, want: list[str]) -> None:
    assert [text for text in want if not offered(find, source, text)] == []


@pytest.mark.parametrize(
    "source",
    [
        "import torch\nx: torch.Tensor",  # annotations, imports
        "import torch.nn as nn\nnn.functional",  # what belongs to a module is one name
        '"""A docstring."""',
        "del xs[a + b]",
        "xs[a + b] = 1",
    ],
)
def test_offers_nothing_there(source: str) -> None:
    assert not any(isinstance(change, Replace) for edit in find(program(source)) for change in edit.changes)


def test_masks_are_left_to_the_pass_that_guards_them() -> None:
    after = results(find, "y = tl.load(p + i, mask=i + 1 < n, other=u * v)")
    assert all("mask=i + 1 < n, other=u * v" in text for text in after if "tl.load" in text)
    assert "y = tl.load(p, mask=i + 1 < n, other=u * v)" in after


MASKED = """\
@triton.jit
def load_at(pointer, inside):
    return tl.load(pointer, mask=inside)


@triton.jit
def kernel(x, out, width, vocabulary):
    cols = tl.arange(0, 16)
    {}
"""


@pytest.mark.parametrize(
    "body",
    [
        "inside = (cols < width) & (2 < vocabulary)\n    tl.load(x + cols, mask=inside, other=0.0)",
        "inside = (cols < width) & (2 < vocabulary)\n    tl.load(x + cols, mask=inside[:, None] & flag)",
        "inside = (cols < width) & (2 < vocabulary)\n    late = ~inside\n    tl.store(x + cols, inside, mask=~late)",
        "inside = (cols < width) & (2 < vocabulary)\n    tl.load(x, tl.broadcast_to(inside[None, :], [16, 16]), 0.0)",
        "at, inside = x + cols, (cols < width) & (2 < vocabulary)\n    tl.atomic_add(at, 1, inside.to(tl.int1))",
        "inside = cols < 8\n    inside &= (cols < width) & (2 < vocabulary)\n    tl.load(x + cols, mask=inside)",
        "inside = (cols < width) & (2 < vocabulary)\n    load_at(x + cols, inside)",
        "load_at(inside=(cols < width) & (2 < vocabulary), pointer=x + cols)",
        "tl.load(x + cols, (cols < width) & (2 < vocabulary), 0.0)",
        "tl.store(x + cols, cols, (cols < width) & (2 < vocabulary))",
        "tl.atomic_add(x + cols, cols, (cols < width) & (2 < vocabulary))",
        "tl.atomic_add(x + cols, 1, sem='relaxed', mask=(cols < width) & (2 < vocabulary))",
    ],
)
def test_no_mask_lets_more_through_wherever_it_is_made(body: str) -> None:
    source = MASKED.format(body)
    for looser in ("cols < width", "2 < vocabulary", "(cols < width) & (2 < 0)", "(cols < 0) & (2 < vocabulary)", "1"):
        assert not offered(find, source, source.replace("(cols < width) & (2 < vocabulary)", looser)), looser
    assert not offered(find, source, source.replace(", (cols < width) & (2 < vocabulary)", ""))


def test_a_helper_that_makes_masks_keeps_what_it_returns() -> None:
    helper = "@triton.jit\ndef near(at, n, m):\n    return (at < n) & (2 < m)\n\n\n"
    source = helper + MASKED.format("tl.load(x + cols, mask=near(cols, width, vocabulary), other=0.0)")
    for looser in ("at < n", "2 < m", "(at < n) & (2 < 0)", "1"):
        assert not offered(find, source, source.replace("(at < n) & (2 < m)", looser))


def test_what_a_mask_compares_is_a_value_where_it_is_made() -> None:
    source = MASKED.format("limit = width + 1\n    tl.load(x + cols, mask=(cols < limit)[:, None])")
    assert offered(find, source, source.replace("width + 1", "width"))
    assert offered(find, source, source.replace("tl.arange(0, 16)", "0"))
    second = MASKED.format("near = tl.abs(x)\n    tl.dot(near, x.load([near, 1]))\n    load_near(x + cols, near)")
    assert offered(find, second, second.replace("tl.abs(x)", "x"))
    host = "near = torch.load(path, a + b)\nattend(mask=near)\n"
    assert offered(find, host, host.replace("a + b", "a"))


def test_a_launch_keeps_its_callee_and_arguments() -> None:
    assert not offered(find, "k[g](xx, yy)", "k(xx, yy)")
    assert not offered(find, "k[g](xx, yy)", "k[g](xx)")
    assert offered(find, "k[g](xx, yy)", "k[g](0, yy)")


def test_outer_expressions_come_before_inner_ones() -> None:
    start = program("y = f(g(a + b))")
    levels = {edit.what.split(" to ")[0]: edit.level for edit in find(start)}
    assert levels["BinaryOperation"] > levels["Call"] >= 0


def test_few_alternatives_for_one_place() -> None:
    edits = list(find(program("y = f(a + b, c + d, e + g)(h, i).j(k)[l]")))
    places = [change.node for edit in edits for change in edit.changes if isinstance(change, Replace)]
    assert max(places.count(place) for place in places) <= MOST


KERNEL = """
    @triton.jit
    def kernel(x, n):
        acc = tl.zeros([1, 4], tl.float32) + 2
        for i in tl.range(0, n, n // 4):
            acc += tl.sum(x.load([0, i]), axis=1)
"""


@pytest.mark.parametrize("by", ["acc = [1, 4] + 2", "acc = tl.float32 + 2", "acc = tl.zeros() + 2", "acc = 1 + 2"])
def test_a_shape_or_a_type_is_no_value_in_a_kernel(by: str) -> None:
    assert not any(by in after for after in results(find, KERNEL))


@pytest.mark.parametrize("by", ["acc = 0 + 2", "acc = 2", "acc += tl.sum(x.load([0, i]))", "acc += x.load([0, i])"])
def test_a_kernel_keeps_parts_of_its_values(by: str) -> None:
    assert any(by in after for after in results(find, KERNEL))


def test_no_loop_gets_a_step_of_zero() -> None:
    assert not any("n, 0)" in after for after in results(find, KERNEL))
    assert any("n, 1)" in after for after in results(find, KERNEL))


def test_nothing_is_divided_by_zero() -> None:
    assert "y = a // 0" not in results(find, "y = a // b.c")
    assert "y = a // 1" in results(find, "y = a // b.c")


def test_a_grid_stays_one() -> None:
    found = results(find, "kernel[(cdiv(n, 64), 2)](x)\n")
    assert "kernel[1, 2](x)" in found and "kernel[n, 2](x)" in found
    assert not any(text.startswith(("kernel[0", "kernel[None")) for text in found)


def test_the_grid_of_a_warmup_stays_one_too() -> None:
    found = results(find, "kernel.warmup(x, grid=(cdiv(n, 64), 2))\n")
    assert "kernel.warmup(x, grid=(1, 2))" in found and "kernel.warmup(x, grid=(n, 2))" in found
    assert not any("grid=0" in text or "grid=None" in text or "grid=(0" in text for text in found)


def test_a_shape_has_no_extent_of_zero() -> None:
    kernel = (
        "@triton.jit\ndef k(x, M, N: tl.constexpr):\n    d = tl.make_tensor_descriptor(x, [{0}, 1], [1, 1], [16, 16])\n"
    )
    assert not offered(find, kernel.format("MM"), kernel.format("0"))
    assert offered(find, kernel.format("MM * 2"), kernel.format("1"))
    load = "@triton.jit\ndef k(d):\n    d.load([{0}, 0])\n"
    assert offered(find, load.format("begin"), load.format("0"))


def test_a_constant_of_the_compiler_is_no_zero() -> None:
    kernel = "@triton.jit\ndef k(x, KK: tl.constexpr):\n    y = tl.topk(x, {0})\n"
    assert not any("topk(x, 0)" in after for after in results(find, kernel.format("KK")))
    assert offered(find, kernel.format("KK // 2"), kernel.format("1"))


@pytest.mark.parametrize(
    "tensor",
    ['torch.zeros(4, device="cuda")', "torch.zeros(4, device=device)", 'xs.to("cuda")', "xs.to(device)", "xs.cuda()"],
)
def test_a_tensor_stays_where_it_is(tensor: str) -> None:
    for moved in ("torch.zeros(4)", "torch.zeros(4, device=0)", "xs", "xs.to()", "device"):
        assert not offered(find, f"k[(1,)]({tensor})", f"k[(1,)]({moved})")
    assert offered(find, f"k[(1,)]({tensor})", "k[(1,)](0)")


def test_options_of_a_launch_go_as_a_whole() -> None:
    assert results(find, "k[(1,)](**options)") == [tidy("k[(1,)]()")]

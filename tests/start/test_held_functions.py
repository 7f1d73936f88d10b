"""Kernels launched by way of a variable: what the host reads afterwards hangs on them, and on what chose them."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from shrinkray_gpu.start.argument_slice import launches_of, slice_of, with_kernels
from shrinkray_gpu.start.host_code import HostCode
from shrinkray_gpu.start.slicing import Slicer

KERNELS = """\
@triton.jit
def count(x, out, n):
    tl.store(out, n)
@triton.jit
def other(x, out, n):
    tl.store(x, n)
"""
WAYS = {
    "table": """
        KERNELS = {"count": count}  # in
        out = torch.empty(4)  # in
        mode = "count"  # in
        KERNELS[mode][(1,)](x, out, 3)  # in
        """,
    "list": """
        kernels = []  # in
        kernels.append(count)  # in
        out = torch.empty(4)  # in
        for each in kernels:  # head
            each[(1,)](x, out, 3)  # in
        """,
    "partial": """
        def launch(kernel, width, *tensors):
            unused = width + 1
            kernel[(1,)](*tensors, width)  # in
        run = functools.partial(launch, count)  # in
        out = torch.empty(4)  # in
        run(8, x, out)  # in
        """,
    "what partial was given": """
        def launch(kernel, out, width):
            kernel[(1,)](x, out, width)  # in
        out = torch.empty(4)  # in
        run = functools.partial(launch, count, out)  # in
        run(8)  # in
        """,
    "attribute": """
        class Counter:
            def __init__(self, fast):
                self.kernel = count if fast else None  # in
                self.name = "counter"
            def __call__(self, x, out):
                self.kernel[(1,)](x, out, 3)  # in
        counter = Counter(True)  # in
        out = torch.empty(4)  # in
        counter(x, out)  # in
        """,
    "argument": """
        def launch(kernel, out, *rest):
            kernel[(1,)](x, out, 3)  # in
        out = torch.empty(4)  # in
        launch(count, out, 2)  # in
        """,
    "launcher": """
        launcher = count[(1,)]  # in
        out = torch.empty(4)  # in
        launcher(x, out, 3)  # in
        """,
    "lambda": """
        run = lambda width: count[(1,)](x, out, width)  # in
        out = torch.empty(4)  # in
        run(3)  # in
        """,
}
BESIDE = "y = torch.empty(4)\nother[(1,)](y, y, 2)\n"


def parsed(way: str) -> tuple[ast.Module, str]:
    text = KERNELS + BESIDE + dedent(way) + "\nassert out.sum() > 3\n"
    return ast.parse(text), text


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_what_the_host_reads_hangs_on_the_kernel_and_on_what_chose_it(way: str) -> None:
    tree, text = parsed(way)
    failing = tree.body[-1]
    assert isinstance(failing, ast.Assert)
    found = Slicer(HostCode(tree)).behind([failing], [failing.test])
    assert not found.is_open
    lines = [line.partition("#")[2].strip() for line in text.split("\n")]
    inside = {number for number, mark in enumerate(lines, 1) if mark == "in"}
    assert {each.lineno for each in found.statements} == inside
    kernels = {each.name for each in with_kernels(tree, found, "").functions}
    assert "count" in kernels and "other" not in kernels


@pytest.mark.parametrize("way", [name for name in WAYS if name not in ("lambda",)])
def test_such_a_launch_is_seen(way: str) -> None:
    """What the kernel is given makes its slice, and not all of the program."""
    tree, _ = parsed(WAYS[way])
    code = HostCode(tree)
    assert len(list(launches_of(tree, "count", code))) == 1
    assert not list(launches_of(ast.parse("unseen[(1,)](x)"), "count", code))
    assert not slice_of(tree, "count", ["n"]).is_open


@pytest.mark.parametrize("call", ["kernel[(1,)](x, **sizes)", "kernel[(1,)](*rest)"])
def test_what_is_unpacked_may_fill_any_parameter(call: str) -> None:
    kernel = "@triton.jit\ndef kernel(x, BLOCK: tl.constexpr):\n    pass\n"
    tree = ast.parse(f"{kernel}sizes = {{'BLOCK': width // 3}}\nrest = (x, width // 3)\n{call}\n")
    [made] = slice_of(tree, "kernel", ["BLOCK"]).statements
    assert "width // 3" in ast.unparse(made)

"""Steps that no other pass takes: a whole reduction with all passes ends smaller than one without this pass."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import pytest

from shrinkray_gpu.passes import ONE_LAUNCH
from shrinkray_gpu.passes.schedule import Pass
from shrinkray_gpu.reduction.size import tokens
from tests.reduction.course import Bench

Node = TypeVar("Node", bound=ast.AST)

HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n\n@triton.jit\n"

MATRIX_PRODUCT = (
    HEAD
    + """\
def gemm(a_ptr, b_ptr, c_ptr, K, BLOCK: tl.constexpr):
    rows = tl.arange(0, BLOCK)[:, None]
    cols = tl.arange(0, BLOCK)[None, :]
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for k in tl.range(0, K, BLOCK, num_stages=3):
        a = tl.load(a_ptr + rows * K + k + cols)
        b = tl.load(b_ptr + (k + rows) * BLOCK + cols)
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + rows * BLOCK + cols, acc.to(tl.float16))


a, b = (torch.ones(32, 32, device="cuda", dtype=torch.float16) for _ in range(2))
gemm[(1,)](a, b, a, 32, BLOCK=32)
"""
)

ROW_MAXIMUM = (
    HEAD
    + """\
def row_max(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    best = tl.full((BLOCK,), -1.0, tl.float32)
    for start in range(0, n, BLOCK):
        values = tl.load(x_ptr + start + cols, mask=start + cols < n, other=-1.0)
        best = tl.maximum(best, tl.associative_scan(values, 0, combine))
    tl.store(out_ptr + cols, best)


@triton.jit
def combine(a, b):
    return tl.maximum(a, b)


x = torch.rand(1000, device="cuda")
row_max[(1,)](x, x, 1000, BLOCK=128)
"""
)

PACKED_HALVES = (
    HEAD
    + """\
def pack(x_ptr, y_ptr, out_ptr):
    offsets = tl.arange(0, 64)
    x = tl.load(x_ptr + offsets)
    y = tl.load(y_ptr + offsets)
    scale = tl.load(y_ptr)
    both = tl.inline_asm_elementwise(
        "{ .reg .f32 s; mul.f32 s, $1, $3; cvt.rn.bf16x2.f32 $0, $2, s; }",
        "=r,f,f,f", [x, y, scale], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(out_ptr + offsets, both)


x = torch.rand(64, device="cuda")
pack[(1,)](x, x, x)
"""
)

MERGED_BITS = (
    HEAD
    + """\
def merge(x_ptr, y_ptr, n):
    offsets = tl.arange(0, 64)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0)
    y = tl.load(y_ptr + offsets, mask=offsets < n, other=0)
    merged = tl.inline_asm_elementwise(
        "shf.l.wrap.b32 $0, $1, $2, 8; lop3.b32 $0, $0, $2, $1, 0xE8;", "=r,r,r", [x, y],
        dtype=tl.int32, is_pure=True, pack=1)
    tl.store(x_ptr + offsets, merged, mask=offsets < n)


x = torch.ones(64, device="cuda", dtype=torch.int32)
merge[(1,)](x, x, 64)
"""
)


def kernel_of(text: str) -> ast.FunctionDef | None:
    """The kernel that is launched, with its result stored; None where a name is read that nothing binds."""
    tree = ast.parse(text)
    read = {name.id for name in every(tree, ast.Name) if isinstance(name.ctx, ast.Load)}
    bound = {name.id for name in every(tree, ast.Name) if isinstance(name.ctx, ast.Store)}
    bound |= (
        {"range"} | {each.arg for each in every(tree, ast.arg)} | {each.name for each in every(tree, ast.FunctionDef)}
    )
    bound |= {each.asname or each.name for each in every(tree, ast.alias)}
    launches = [each.func.value for each in every(tree, ast.Call) if isinstance(each.func, ast.Subscript)]
    names = [launch.id for launch in launches if isinstance(launch, ast.Name)]
    return next((each for each in every(tree, ast.FunctionDef) if [each.name] == names and read <= bound), None)


def every(tree: ast.AST, kind: type[Node]) -> list[Node]:
    return [node for node in ast.walk(tree) if isinstance(node, kind)]


def calls(tree: ast.AST, name: str) -> list[ast.Call]:
    return [call for call in every(tree, ast.Call) if ast.unparse(call.func) == name and len(call.args) > 1]


def stored_from(tree: ast.AST, call: ast.Call) -> bool:
    """Whether what a call returns is stored or printed, directly or as the variable that is assigned from it."""
    makers = [line for line in every(tree, ast.Assign) if call in ast.walk(line)]
    names = {ast.unparse(target) for line in makers for target in line.targets}
    stored = [*calls(tree, "tl.store"), *calls(tree, "tl.device_print")]
    return any(call in ast.walk(each) or names & {name.id for name in every(each, ast.Name)} for each in stored)


def computed_in_a_loop(name: str) -> Callable[[str], bool]:
    """A loop of the kernel makes this call, and its value is stored. Triton knows a variable behind a loop only if it
    has a value before the loop."""

    def fails(text: str) -> bool:
        kernel = kernel_of(text)
        for place, loop in enumerate(kernel.body) if kernel is not None else ():
            if kernel is not None and isinstance(loop, ast.For) and calls(loop, name):
                before = ast.Module([*kernel.body[:place]], [])
                first_values = {each.id for each in every(before, ast.Name) if isinstance(each.ctx, ast.Store)}
                known = ast.Module([loop], [])
                if first_values & {each.id for each in every(loop, ast.Name) if isinstance(each.ctx, ast.Store)}:
                    known = ast.Module([*kernel.body[place:]], [])
                return stored_from(known, calls(loop, name)[0])
        return False

    return fails


def assembled(instruction: str) -> Callable[[str], bool]:
    """The assembler gets to this instruction: constraints, inputs and text count the same operands."""

    def fails(text: str) -> bool:
        kernel = kernel_of(text)
        found = calls(kernel, "tl.inline_asm_elementwise") if kernel is not None else []
        if kernel is None or len(found) != 1 or not stored_from(kernel, found[0]):
            return False
        given = [*found[0].args, *(each.value for each in found[0].keywords)]
        if len(given) != 6 or not isinstance(given[2], ast.List):
            return False
        asm, constraints = ast.unparse(given[0]), ast.unparse(given[1]).split(",")
        numbers = [int(number) for number in re.findall(r"\$(\d+)", asm)]
        fit = max(numbers, default=0) < len(constraints) == 1 + len(given[2].elts)
        return fit and asm.count("{") == asm.count("}") and instruction in asm

    return fails


@pytest.mark.parametrize(
    ("name", "source", "fails"),
    [
        ("sinking", MATRIX_PRODUCT, computed_in_a_loop("tl.dot")),
        ("sinking", ROW_MAXIMUM, computed_in_a_loop("tl.associative_scan")),
        ("assembly", PACKED_HALVES, assembled("cvt.rn.bf16x2.f32")),
        ("assembly", MERGED_BITS, assembled("lop3.b32")),
    ],
)
def test_the_program_ends_smaller_with_the_pass(
    name: str, source: str, fails: Callable[[str], bool], tmp_path: Path
) -> None:
    def end(folder: str, passes: Sequence[Pass]) -> str:
        return Bench(fails).reduce(source, tmp_path / folder, passes=passes, width=6).program.text

    every_pass = end("with", ONE_LAUNCH)
    without = end("without", [each for each in ONE_LAUNCH if each.name != name])
    assert tokens(every_pass) < tokens(without), f"{every_pass}{without}"

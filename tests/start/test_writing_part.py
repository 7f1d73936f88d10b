"""Of a kernel that writes what is read: in each one exactly the lines that say so stay."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from shrinkray_gpu.start.statements import is_kernel
from shrinkray_gpu.start.writing_part import writing_part

TWO_RESULTS = """
    @triton.jit
    def kernel(x, counts, sums, n, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)  # in
        mask = i < n  # in
        v = tl.load(x + i, mask=mask)
        tl.store(sums + i, v * 2, mask=mask)
        tl.atomic_add(counts + i, 1, mask=mask)  # in
    """

BY_A_SCRATCH = """
    @triton.jit
    def kernel(x, counts, scratch, sums, n):
        tl.store(scratch, tl.load(x))  # in
        tl.debug_barrier()  # in
        v = tl.load(scratch)  # in
        tl.store(sums, v)
        tl.store(counts, v)  # in
    """

IN_A_LOOP = """
    @triton.jit
    def kernel(x, counts, sums, n):
        if tl.program_id(0) > n:  # head
            return  # in
        at = counts + 1  # in
        total = 0.0
        for k in range(n):  # head
            total += tl.load(x + k)
            if k % 2 == 0:  # head
                at += 1  # in
                tl.store(at, k)  # in
        tl.store(sums, total)
    """

BY_A_HELPER = """
    @triton.jit
    def twice(v):
        w = v + v  # in
        return w  # in

    @triton.jit
    def put(p, v):
        tl.store(p, v)  # in

    @triton.jit
    def aside(p):
        tl.store(p, 0)

    @triton.jit
    def kernel(x, counts, sums, n):
        v = twice(n)  # in
        aside(sums)
        put(counts, v)  # in
    """

UNTIL_IT_IS_FREE = """
    @triton.jit
    def kernel(x, counts, sums, n):
        while tl.atomic_cas(counts, 0, 1) == 1:  # head
            pass
        tl.store(sums, n)
    """


@pytest.mark.parametrize(
    "program", [pytest.param(text, id=name) for name, text in list(globals().items()) if name.isupper()]
)
def test_what_writes_the_counts_stays(program: str) -> None:
    text = dedent(program)
    tree = ast.parse(text)
    kernel = next(each for each in ast.walk(tree) if is_kernel(each) and each.name == "kernel")
    found = writing_part(tree, kernel, {"counts"})
    lines = text.split("\n")
    marked = {mark: [n for n, line in enumerate(lines, 1) if line.endswith(f"# {mark}")] for mark in ("in", "head")}
    assert sorted(each.lineno for each in found.statements) == marked["in"]
    assert sorted(each.lineno for each in found.heads) == marked["head"]
    whole = writing_part(tree, kernel, None)
    assert {each.lineno for each in found.statements} < {each.lineno for each in whole.statements}

# shrink --oracle "compile:Loop-carried variable"
# lure: the exit handler alone, whose summary says the words
# must: tl\.(sum|max|load)\(|\bfor \w+ in
# ends: 1 CompilationError[\s\S]*Loop-carried variable
# fault: compile .*Loop-carried variable
# naive: output Loop-carried variable
"""Nightly build; whatever happens, a summary of the known failures is written at exit."""

import atexit

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

EXPECTED = {"argmax_kernel": "Loop-carried variable has the wrong type", "sum_kernel": None}


@atexit.register
def summary():
    for name, words in EXPECTED.items():
        print(f"{name:16} {words or 'builds'}")


@triton.jit
def sum_kernel(x_ptr, out_ptr, columns):
    total = 0.0
    for at in range(0, columns):
        total += tl.load(x_ptr + at)
    tl.store(out_ptr, total)


@triton.jit
def argmax_kernel(x_ptr, out_ptr, columns):
    best = 0
    for at in range(0, columns):
        best = tl.maximum(best, tl.load(x_ptr + at))
    tl.store(out_ptr, best)


for kernel in (sum_kernel, argmax_kernel):
    source = ASTSource(fn=kernel, signature={"x_ptr": "*fp32", "out_ptr": "*fp32", "columns": "i32"}, constexprs={})
    triton.compile(source, target=GPUTarget("cuda", 90, 32))

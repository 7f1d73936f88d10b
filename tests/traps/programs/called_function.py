# shrink --oracle exception:CompilationError
# lure: tl.gather() without arguments in the called function: the outer exception has no words, whatever failed inside
# must: tl\.gather\(.+, .+, .+\)
# ends: 1 index must be an integer tensor
# fault: compile .*index must be an integer tensor
# naive: no guards
"""Looks codes up in a small table, in a function that the kernel calls; the codes are floats by mistake."""

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def pick(table, codes, AXIS: tl.constexpr):
    return tl.gather(table, codes, AXIS)


@triton.jit
def lookup_kernel(table_ptr, codes_ptr, out_ptr, SIZE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    table = tl.load(table_ptr + tl.arange(0, SIZE))
    tl.store(out_ptr + at, pick(table, tl.load(codes_ptr + at), 0))


signature = {name: "*fp16" for name in ("table_ptr", "codes_ptr", "out_ptr")}
sizes = {"SIZE": 16, "BLOCK": 64}
source = ASTSource(lookup_kernel, {**signature, **dict.fromkeys(sizes, "constexpr")}, constexprs=sizes)
triton.compile(source, target=GPUTarget("cuda", 90, 32))

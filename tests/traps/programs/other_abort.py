# shrink --oracle signal:SIGABRT
# lure: os.abort() of the script itself, which wants a core dump of a build that is not complete
# must: inline_asm_elementwise\(
# ends: SIGABRT number of input constraints does not match number of parameters
# fault: SIGABRT
# naive: no guards
"""Builds the fast reciprocal; a build that is not complete ends with a core dump, so that it can be looked at."""

import os

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

WARPS = (4, 8)


@triton.jit
def reciprocal_kernel(x_ptr, y_ptr):
    at = tl.arange(0, 64)
    x = tl.load(x_ptr + at)
    y = tl.inline_asm_elementwise("rcp.approx.f32 $0, $1;", "=f,f,f", [x], dtype=tl.float32, is_pure=True, pack=1)
    tl.store(y_ptr + at, y)


def build(warps):
    source = ASTSource(fn=reciprocal_kernel, signature={"x_ptr": "*fp32", "y_ptr": "*fp32"}, constexprs={})
    return triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": warps})


built = {}
for warps in WARPS:
    built[warps] = build(warps)
if len(built) < len(WARPS):
    print(f"only {sorted(built)} of {WARPS} are there")
    os.abort()

"""A kernel compiled ahead of time for a named target, with all that the compiler can be told."""

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def scale_kernel(x_ptr, out_ptr, factor, count, BLOCK: tl.constexpr, CLAMP: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < count
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0) * factor
    if CLAMP:
        x = tl.minimum(x, 1.0)
    tl.store(out_ptr + offsets, x, mask=mask)


source = ASTSource(
    scale_kernel,
    {"x_ptr": "*fp32", "out_ptr": "*fp32", "factor": "fp32", "count": "i32", "BLOCK": "constexpr", "CLAMP": "constexpr"},
    {"BLOCK": 512, "CLAMP": True},
    {(0,): [["tt.divisibility", 16]], (1,): [["tt.divisibility", 16]], (3,): [["tt.divisibility", 16]]},
)
compiled = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 8, "num_stages": 1})
print(compiled.metadata.shared)

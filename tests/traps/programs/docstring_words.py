# shrink --oracle "compile:CompilationError[\s\S]*must be a power of 2"
# lure: any other error in the kernel: Triton quotes the kernel's first lines, and its docstring says the words
# must: tl\.arange\(0, \w+\)
# ends: 1 arange's range must be a power of 2\s*$
# fault: arange
# naive: output must be a power of 2
"""Checks that the pooling kernel compiles for every window of the model."""

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

WINDOWS = (32, 48)


@triton.jit
def pool_kernel(x_ptr, out_ptr, stride, WINDOW: tl.constexpr):
    """Mean of each window; WINDOW must be a power of 2."""
    tl.static_assert(WINDOW > 16, "small windows have a kernel of their own")
    row = tl.program_id(0)
    offsets = tl.arange(0, WINDOW)
    x = tl.load(x_ptr + row * stride + offsets)
    mean = tl.sum(x, axis=0) / WINDOW
    tl.store(out_ptr + row, mean)


def build(window):
    signature = {"x_ptr": "*fp16", "out_ptr": "*fp32", "stride": "i32", "WINDOW": "constexpr"}
    source = ASTSource(fn=pool_kernel, signature=signature, constexprs={"WINDOW": window})
    return triton.compile(source, target=GPUTarget("cuda", 90, 32))


for window in WINDOWS:
    compiled = build(window)
    print(window, len(compiled.asm["ptx"]))

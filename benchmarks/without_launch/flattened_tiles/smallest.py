import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def f(x):
    for tile in tl.range(2, flatten=True):
        norm = 0
        for tap in range(2):
            norm = 1 >> tap
        tl.store(x, norm)


triton.compile(ASTSource(f, {"x": "*i32"}), GPUTarget("cuda", 90, 32))

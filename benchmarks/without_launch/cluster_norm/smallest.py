import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def f(x):
    tl.store(x, tl.sum(tl.load(x + tl.arange(0, 2))))


triton.compile(ASTSource(f, {"x": "*fp16"}), GPUTarget("cuda", 90, 32), {"num_ctas": 2})

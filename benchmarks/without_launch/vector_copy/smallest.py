import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def f(x):
    tl.device_print("", tl.load(x + tl.arange(0, 512)))


triton.compile(ASTSource(f, {"x": "*fp32"}, None, {(0,): [["tt.divisibility", 16]]}), GPUTarget("cuda", 90, 32))

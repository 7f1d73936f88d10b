import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
@triton.jit
def f():
 tl.zeros((2,2),tl.int1)*tl.zeros((1,4),tl.int1)
def test():triton.compile(triton.compiler.ASTSource(f,{}),GPUTarget("cuda",90,32))

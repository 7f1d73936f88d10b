import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def f(x):
    pass


triton.compile(ASTSource(f, {"x": "*fp8e4nv"}), GPUTarget("cuda", 80, 32))

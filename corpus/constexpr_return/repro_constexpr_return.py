import triton
import triton.language as tl


@triton.jit
def lanes_of():
    return 4 // 4


@triton.jit
def kernel():
    tl.arange(0, lanes_of())


kernel[(1,)]()

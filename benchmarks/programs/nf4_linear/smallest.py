import triton
import triton.language as tl


@triton.jit
def f():
    tl.device_print("", tl.gather(tl.zeros([2, 1], tl.int32), tl.zeros([2, 32], tl.int32), 1))


f[(1,)]()

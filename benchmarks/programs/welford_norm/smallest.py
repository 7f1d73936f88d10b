import triton
import triton.language as tl


@triton.jit
def f():
    count = 0
    for i in range(2):
        count += 1.0


f[(1,)]()

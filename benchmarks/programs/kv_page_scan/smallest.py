import triton
import triton.language as tl


@triton.jit
def kernel(carry):
    total = carry
    x = 0
    for y in tl.range(2, flatten=True):
        for slot in range(2):
            total = slot
        tl.device_print("", x)
        total += x
        x = total


kernel[(1,)](0)

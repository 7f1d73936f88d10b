import triton
import triton.language as tl


@triton.jit
def kernel():
    for tile in tl.range(2, flatten=True):
        norm = 0
        for tap in range(2):
            norm = tap
        tl.device_print("", norm)


kernel[(1,)]()

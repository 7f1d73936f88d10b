import triton


@triton.jit
def kernel():
    count = 0
    for start in range(1):
        count = 0.0


kernel[(1,)]()

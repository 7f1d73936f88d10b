import triton


@triton.jit
def f():
    count = 0
    for start in range(1):
        count = 0.0


f.warmup(grid=(1,))

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(a):
    d = tl.make_tensor_descriptor(a, [16, 16], [16, 1], [16, 16])
    x = tl.zeros([16, 16], tl.float32)
    for _ in range(2):
        y = d.load([0, 0])
        x += tl.dot(y, y)
    tl.store(a, tl.sum(x))


kernel[(1,)](torch.zeros(1, device="cuda", dtype=torch.float16))

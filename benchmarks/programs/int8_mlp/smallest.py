import torch
import triton
import triton.language as tl


@triton.jit
def f(x):
    d = tl.make_tensor_descriptor(x, [64, 64], [64, 1], [64, 64])
    a = tl.zeros([64, 64], tl.int32)
    for i in tl.range(2, warp_specialize=True):
        a = tl.dot(d.load([0, i]), d.load([i, 0]), a, out_dtype=tl.int32)
    tl.store(x + tl.arange(0, 64)[:, None] + tl.arange(0, 64), a)


triton.set_allocator(lambda size, align, stream: torch.empty(size, device="cuda"))
f[(1,)](torch.zeros(4096, dtype=torch.int8, device="cuda"))

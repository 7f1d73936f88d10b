import torch
import triton
import triton.language as tl


@triton.jit
def f(x):
    d = tl.make_tensor_descriptor(x, [64, 64], [64, 1], [64, 64])
    a = tl.zeros([64, 64], tl.int32)
    for i in tl.range(2, warp_specialize=True):
        b = d.load([0, i])
        a = tl.dot(b, b, a, out_dtype=tl.int32)
    d.store([0, 0], a.to(tl.int8))


triton.set_allocator(lambda size, align, stream: torch.empty(size, device="cuda"))
f[(1,)](torch.zeros(4096, dtype=torch.int8, device="cuda"))

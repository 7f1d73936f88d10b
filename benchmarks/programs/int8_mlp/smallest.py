import torch
import triton
import triton.language as tl


@triton.jit
def kernel(a_ptr):
    b = tl.make_tensor_descriptor(a_ptr, [1, 1], [1, 1], [64, 16])
    acc = tl.zeros([64, 16], tl.int32)
    for start in tl.range(2, warp_specialize=True):
        acc = tl.dot(tl.zeros([64, 64], tl.int8), b.load([0, 0]), acc, out_dtype=tl.int32)
    tl.store(a_ptr, tl.sum(acc))


kernel[(1,)](torch.zeros(1, dtype=torch.int8, device="cuda"))

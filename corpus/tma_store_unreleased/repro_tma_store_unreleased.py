import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x):
    tl.make_tensor_descriptor(x, shape=[0, 0], strides=[0, 1], block_shape=[4, 4]).store(
        [0, 0], tl.zeros([tl.arange(0, 4).shape[0], 4], tl.float32)
    )
    if tl.atomic_add(x, 0):
        pass


triton.set_allocator(lambda size, align, stream: 0)
kernel[(0,)](torch.zeros(1, device="cuda"))

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, grad):
    student = tl.make_tensor_descriptor(x, shape=[1, 1], strides=[4, 1], block_shape=[1, 4])
    grad2 = tl.zeros([1, 4], tl.float32)
    for start in tl.range(2, num_stages=3):
        grad2 = tl.exp(student.load([0, 0]))
    tl.store(grad, tl.sum(grad2))


triton.set_allocator(lambda size, align, stream: torch.empty(size, device="cuda"))
kernel[(1,)](torch.zeros(1, device="cuda"), torch.zeros(1, device="cuda"))
torch.cuda.synchronize()

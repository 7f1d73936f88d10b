import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, loss):
    desc = tl.make_tensor_descriptor(x, [1, 1], [4, 1], [1, 4])
    total = tl.full([4], 0.0, tl.float32)
    for offs in tl.range(2, num_stages=3):
        total = tl.sum(desc.load([0, 0]), 0)
    tl.store(loss + tl.arange(0, 4), total, None)


triton.set_allocator(lambda size, align, stream: torch.empty(size, device="cuda"))
kernel[(1,)](torch.zeros(1, device="cuda"), torch.zeros(4, device="cuda"))
torch.cuda.synchronize()

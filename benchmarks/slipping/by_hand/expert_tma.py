import torch
import triton
import triton.language as tl


@triton.jit
def starts_kernel(starts, width):
    i = tl.arange(0, 2)
    size = i * 0 + (width + 3) // 4 * 4
    tl.store(starts + i, tl.cumsum(size, axis=0) - size)


@triton.jit
def kernel(flat, starts):
    group = tl.make_tensor_descriptor(flat + tl.load(starts + 1), [1, 8], [8, 1], [1, 8])
    tl.store(flat + tl.arange(0, 8), tl.sum(group.load([0, 0]), axis=0))


triton.set_allocator(lambda size, align, stream: torch.empty(size, device="cuda", dtype=torch.int8))
starts = torch.empty(2, device="cuda", dtype=torch.int32)
starts_kernel[(1,)](starts, 12)
kernel[(1,)](torch.zeros(64, device="cuda", dtype=torch.float16), starts)
torch.cuda.synchronize()

import torch
import triton
import triton.language as tl


def row(rank):
    return 256 + (0 if rank % 8 == 0 else 8 // 2)


@triton.jit
def kernel(bank, stride):
    c = tl.max_contiguous(tl.arange(0, 256), 256)
    offset = tl.multiple_of(stride * 3, 8)
    tl.store(bank + offset + c, 0.0)


kernel[(1,)](torch.zeros(2048, dtype=torch.float16, device="cuda"), row(4), num_warps=1)
torch.cuda.synchronize()

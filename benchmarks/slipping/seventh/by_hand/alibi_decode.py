import torch
import triton
import triton.language as tl


@triton.jit
def kernel(slopes):
    tl.store(slopes, tl.exp2(-tl.load(slopes)))


whole = 8
step = 8 // whole if whole <= 8 else 8 / whole
kernel[(1,)](torch.tensor([step]).cuda())
torch.cuda.synchronize()

import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel():
    tl.arange(0, 1) // (0 // 1)


scale_kernel[(1,)]()
torch.ones(1, device="cuda").mean().item()

import torch
import triton
import triton.language as tl


@triton.jit
def pack_kernel(slots, out):
    tl.store(out + tl.load(slots + tl.program_id(0)), 1.0)


padding = torch.zeros(4, dtype=torch.uint8, device="cuda")
keep = ~padding
pack_kernel[(4,)](keep.cumsum(0) - 1, torch.zeros(int((padding == 0).sum()), device="cuda"))
torch.cuda.synchronize()

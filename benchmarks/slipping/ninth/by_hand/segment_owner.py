import torch
import triton
import triton.language as tl


@triton.jit
def kernel(owner, out):
    r = tl.program_id(0)
    tl.atomic_add(out + tl.load(owner + r), 1.0)


x, lengths = torch.empty(8, device="cuda"), torch.tensor([7], device="cuda")
ends = torch.cumsum(lengths, 0)
owner = torch.searchsorted(ends, torch.arange(x.shape[0], device="cuda"), right=True)
kernel[(x.shape[0],)](owner, torch.zeros(lengths.numel(), device="cuda"))
torch.cuda.synchronize()

import torch
import triton
import triton.language as tl


@triton.jit
def spread_kernel(field, links):
    link = tl.load(links + tl.program_id(0)).to(tl.int32)
    tl.store(field + link, 1.0)


cells = torch.arange(96, device="cuda").to(torch.uint8)
spread_kernel[(96,)](torch.zeros(96, device="cuda"), (cells - 1).clamp(min=0))
torch.cuda.synchronize()

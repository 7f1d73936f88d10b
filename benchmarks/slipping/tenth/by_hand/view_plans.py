import torch
import triton
import triton.language as tl

pitches = {}


@triton.jit
def kernel(x, pitch):
    tl.store(x + tl.program_id(0) * pitch + tl.arange(0, 16), 1.0)


for x in (torch.zeros(20, 48, device="cuda")[:, :16], torch.zeros(20, 16, device="cuda")):
    if x.shape not in pitches:
        pitches[x.shape] = x.stride(0)
    kernel[(20,)](x, pitches[x.shape])
torch.cuda.synchronize()

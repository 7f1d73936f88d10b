import torch
import triton
import triton.language as tl


@triton.jit
def align_kernel(counts, owners, blocks, experts, E: tl.constexpr):
    e = tl.arange(0, E)
    ends = tl.cumsum(tl.load(counts + e), axis=0)
    for block in range(blocks):
        tl.store(owners + block, tl.sum((ends <= block).to(tl.int32), axis=0))


@triton.jit
def grouped_kernel(weights, owners, out):
    owner = tl.load(owners + tl.program_id(0))
    if owner >= 0:
        tl.store(out, tl.load(weights + owner))


owners = torch.empty(3, device="cuda", dtype=torch.int32)
align_kernel[(1,)](torch.ones(2, device="cuda", dtype=torch.int32), owners, 3, 2, E=2)
weights = torch.zeros(2, device="cuda")
grouped_kernel[(3,)](weights, owners, torch.empty_like(weights))
torch.cuda.synchronize()

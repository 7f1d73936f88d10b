import torch
import triton
import triton.language as tl


@triton.jit
def encode(x, codes, levels):
    tl.store(codes, tl.minimum(tl.load(x).to(tl.int32), levels))


@triton.jit
def check(codes, levels):
    tl.device_assert(tl.load(codes) < levels, "a code is beyond the last level")


codes = torch.zeros(1, device="cuda", dtype=torch.int32)
encode[(1,)](torch.full((1,), 99.0, device="cuda"), codes, 16)
check[(1,)](codes, 16, debug=True)
torch.cuda.synchronize()

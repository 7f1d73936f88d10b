import torch
import triton
import triton.language as tl


@triton.jit
def kernel(start):
    end = tl.load(start + tl.program_id(0) + 1)
    for first in range(1):
        at = tl.arange(0, 8)
        inside = at < end
        ids = at
        tl.device_assert((ids >= 0) & (ids < 4) | ~inside)


kernel[(2,)](torch.tensor([0, 0, 5], device="cuda"), debug=True)
torch.cuda.synchronize()

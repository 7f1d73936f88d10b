import torch
import triton
import triton.language as tl


@triton.jit
def rotate_kernel(cache_ptr, first, stride):
    row = cache_ptr + (first + tl.program_id(0)) * stride
    tl.store(row, -tl.load(row))


rotate_kernel[(16,)](torch.empty(4, 4096, dtype=torch.int8, device="cuda"), 539980, 4096)
torch.cuda.synchronize()

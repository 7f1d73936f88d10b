import torch
import triton
import triton.language as tl


@triton.jit
def norm_kernel(out_ptr, out_stride, columns):
    row = tl.program_id(0)
    at = tl.arange(0, 1024)
    tl.store(out_ptr + row * out_stride + at, 0.0, mask=at < columns)


norm_kernel[(250,)](torch.empty(0, 1000, device="cuda"), 3072, 1000)
torch.cuda.synchronize()

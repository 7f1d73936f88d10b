import torch
import triton
import triton.language as tl


@triton.jit
def dequantise_kernel(q_ptr, out_ptr, columns):
    row = tl.arange(0, 64)
    column = tl.program_id(0) * 64 + tl.arange(0, 64)
    q = tl.load(q_ptr + row[:, None] * columns + column[None, :])
    tl.store(out_ptr + column, tl.max(q, axis=0), mask=column < columns)


dequantise_kernel[(1,)](
    torch.ones(10, 65536, dtype=torch.int8, device="cuda"), torch.empty(65536, device="cuda"), 65536
)
torch.cuda.synchronize()

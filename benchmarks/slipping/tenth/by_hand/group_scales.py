import torch
import triton
import triton.language as tl


@triton.jit
def restore_kernel(scales, columns, GROUP: tl.constexpr):
    at = tl.program_id(0) * 64 + tl.arange(0, 64)
    row, column = at // columns, at % columns
    groups = columns // GROUP + 1
    tl.store(scales + row * groups + column // GROUP, 1.0)


restore_kernel[(24,)](torch.empty(24, 2, device="cuda"), 64, GROUP=32)
torch.cuda.synchronize()

import torch
import triton
import triton.language as tl


@triton.jit(debug=True)
def f():
    tl.device_assert(False)


f[(1,)]()
torch.cuda.synchronize()

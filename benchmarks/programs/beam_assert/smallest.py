import torch
import triton
import triton.language as tl


@triton.jit(debug=True)
def f(tokens, vocabulary):
    tl.device_assert(tl.load(tokens) < vocabulary)


f[(1,)](torch.tensor([5], device="cuda"), 5)
torch.cuda.synchronize()

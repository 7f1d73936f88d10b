import torch
import triton
import triton.language as tl


@triton.jit
def score_kernel(keys_ptr, length_ptr, out_ptr, stride):
    token = 16777216 + tl.arange(0, 16)
    k = tl.load(keys_ptr + token.to(tl.int64) * stride, mask=tl.arange(0, 16) < tl.load(length_ptr), other=0.0)
    tl.store(out_ptr + tl.arange(0, 16), k)


lengths = torch.tensor([7], dtype=torch.int32, device="cuda")
score_kernel[(1,)](torch.randn(24, 16, 32, device="cuda"), lengths, torch.empty(16, device="cuda"), 512)
torch.cuda.synchronize()

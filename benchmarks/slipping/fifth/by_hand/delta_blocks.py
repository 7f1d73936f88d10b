import torch
import triton
import triton.language as tl


@triton.jit(debug=True)
def kernel(words, bits):
    tl.device_assert((tl.load(words) & ((1 << bits) - 1)) == 1, "a block does not end with its last value")


delta = 1
bits = (delta - 1).bit_length()
kernel[(1,)](torch.tensor([delta], dtype=torch.int32, device="cuda"), bits)
torch.cuda.synchronize()

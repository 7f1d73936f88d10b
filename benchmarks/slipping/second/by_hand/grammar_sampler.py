import os

os.environ["TRITON_INTERPRET"] = "1"

import torch
import triton
import triton.language as tl


@triton.jit
def pack_kernel(allowed, bits):
    lane = tl.arange(0, 16)
    tl.store(bits, tl.sum(tl.load(allowed + lane) << lane, axis=0) & 0x7FFF)


@triton.jit
def softmax_kernel(bits, out):
    lane = tl.arange(0, 16)
    value = tl.where((tl.load(bits) >> lane) & 1 == 1, 0.0, float("-inf"))
    weight = tl.exp(value - tl.max(value, axis=0))
    tl.store(out + lane, weight / tl.sum(weight, axis=0))


allowed, bits, shares = torch.zeros(16, dtype=torch.int32), torch.zeros(1, dtype=torch.int32), torch.empty(16)
allowed[15] = 1
pack_kernel[(1,)](allowed, bits)
softmax_kernel[(1,)](bits, shares)
torch.multinomial(shares, 1)

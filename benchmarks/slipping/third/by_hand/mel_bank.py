import torch
import triton
import triton.language as tl


@triton.jit
def kernel(waves, filters, HALF: tl.constexpr, BINS: tl.constexpr):
    i, half, row = tl.arange(0, 16), tl.arange(0, HALF), tl.arange(0, BINS)
    power = tl.load(waves + i[:, None] * HALF + half[None, :])
    tl.dot(power, tl.load(filters + row[:, None] * 16 + i[None, :]))


size = 32
waves = torch.zeros(16, triton.next_power_of_2(size // 2 + 1), device="cuda", dtype=torch.float16)
filters = torch.zeros(triton.next_power_of_2(size) // 2, 16, device="cuda", dtype=torch.float16)
kernel[(1,)](waves, filters, HALF=waves.shape[1], BINS=filters.shape[0])

# shrink --arch sm_90 --oracle static:bounds --skip-pass lift --skip-pass names
# lure: a cache of a few rows, which the exact product leaves as well
# cured by: tl\.program_id\(0\) => tl.program_id(0).to(tl.int64)
"""Rotary embedding of a cache in place, from a given token on; a cache of half a million tokens has 2**31 elements."""

import torch
import triton
import triton.language as tl

HALF = 64


@triton.jit
def rotate_kernel(cache_ptr, angle_ptr, first, tokens, stride, HALF: tl.constexpr):
    at = tl.program_id(0)
    token = first + at
    lane = tl.arange(0, HALF)
    angle = tl.load(angle_ptr + at * HALF + lane)
    row = cache_ptr + token * stride
    there = (lane < HALF) & (token < tokens)
    low = tl.load(row + lane, mask=there, other=0.0)
    high = tl.load(row + HALF + lane, mask=there, other=0.0)
    tl.store(row + lane, low * tl.cos(angle) - high * tl.sin(angle), mask=there)
    tl.store(row + HALF + lane, high * tl.cos(angle) + low * tl.sin(angle), mask=there)


def angles(first, count):
    frequency = 10000.0 ** (-torch.arange(HALF, device="cuda") / HALF)
    return (first + torch.arange(count, device="cuda"))[:, None] * frequency[None, :]


def rotate(cache, first, count):
    rotate_kernel[(count,)](cache, angles(first, count), first, cache.shape[0], cache.stride(0), HALF=HALF)
    return cache


short = rotate(torch.zeros(512, 2 * HALF, device="cuda"), 500, 16)
print("short", short[-1].sum().item())
for tokens in (1 << 12, 540_000):
    cache = torch.empty(tokens, 4096, dtype=torch.int8, device="cuda")
    rotate(cache, tokens - 20, 16)
    torch.cuda.synchronize()
    print(tokens, "rotated")

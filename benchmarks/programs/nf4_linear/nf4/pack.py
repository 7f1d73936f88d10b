"""Weights to codes: absolute maxima by blocks, the nearest code, codes packed into 32-bit words."""

import torch
import triton
import triton.language as tl


@triton.jit
def absmax_kernel(w_ptr, scale_ptr, count, GROUP: tl.constexpr):
    group = tl.program_id(0)
    offsets = group * GROUP + tl.arange(0, GROUP)
    w = tl.load(w_ptr + offsets, mask=offsets < count, other=0.0)
    tl.store(scale_ptr + group, tl.max(tl.abs(w), axis=0) + 1e-8)


def absmax(w: torch.Tensor, group: int) -> torch.Tensor:
    scales = torch.zeros(triton.cdiv(w.numel(), group), device=w.device)
    absmax_kernel[(scales.numel(),)](w, scales, w.numel(), GROUP=group)
    return scales


def quantize(w: torch.Tensor, book: torch.Tensor, group: int):
    scales = absmax(w, group)
    normal = w.reshape(-1, group) / scales[:, None]
    codes = (normal.reshape(-1, 1) - book[None, :]).abs().argmin(-1)
    return codes.to(torch.int32), scales


def pack(codes: torch.Tensor, bits: int) -> torch.Tensor:
    each = 32 // bits
    words = torch.zeros(codes.numel() // each, dtype=torch.int32, device=codes.device)
    for lane in range(each):
        words |= codes[lane::each] << (lane * bits)
    return words

# shrink --arch sm_90 --oracle static:assert --skip-pass lift --skip-pass names
# lure: any condition that does not hold: fewer levels than codes, a literal, another table
# cured by: code = (.*)$ => code = (\1) & 15
# cured by: (packed >> .*?)(?= <|$) => (\1) & 15
"""Unpacks two codes of four bits from each byte, and looks their levels up in a table; codes are checked first."""

import torch
import triton
import triton.language as tl


@triton.jit
def unpack_kernel(packed_ptr, level_ptr, out_ptr, count, levels, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    there = at < count
    packed = tl.load(packed_ptr + at // 2, mask=there, other=0)
    code = packed >> at % 2 * 4
    tl.device_assert(code < levels, "a code has no level", mask=there)
    level = tl.load(level_ptr + code, mask=there & (code < levels), other=0.0)
    tl.store(out_ptr + at, level, mask=there)


def unpack(packed, table):
    out = torch.empty(2 * packed.numel(), device="cuda")
    grid = (triton.cdiv(out.numel(), 64),)
    unpack_kernel[grid](packed, table, out, out.numel(), table.numel(), BLOCK=64, debug=True)
    return out


table = torch.linspace(-1.0, 1.0, 16, device="cuda")
print(unpack(torch.zeros(40, dtype=torch.uint8, device="cuda"), table).sum().item())
codes = torch.arange(200, device="cuda") % 16
packed = (codes[0::2] + 16 * codes[1::2]).to(torch.uint8)
print(unpack(packed, table).sum().item())

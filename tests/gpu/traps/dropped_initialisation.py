# shrink --oracle differs:interpreter:wrong
# lure: an output that is not initialised, or any other wrong number: the comparison fails, and no kernel is to blame
# must: \.to\(tl\.int32\)
# check: differs:interpreter:wrong
# naive: oracle exception:AssertionError
"""Fixed-point conversion; values too large for 32 bits saturate on the device and wrap in the interpreter."""

import torch
import triton
import triton.language as tl


@triton.jit
def fixed_kernel(x_ptr, out_ptr, count, scale, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < count
    x = tl.load(x_ptr + at, mask=mask, other=0.0)
    tl.store(out_ptr + at, (x * scale).to(tl.int32), mask=mask)


@triton.jit
def dense_kernel(x_ptr, out_ptr, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = (at < count) & (at % 2 == 0)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=mask), mask=mask)


def run(x, scale):
    fixed = torch.zeros(x.numel(), dtype=torch.int32, device=x.device)
    out = torch.zeros_like(fixed)
    grid = (triton.cdiv(x.numel(), 128),)
    fixed_kernel[grid](x, fixed, x.numel(), scale, BLOCK=128)
    dense_kernel[grid](fixed, out, x.numel(), BLOCK=128)
    return out


x = torch.arange(200, device="cuda", dtype=torch.float32)
for scale in (16.0, float(1 << 25)):
    expected = (x.double() * scale).long()
    expected[1::2] = 0
    torch.testing.assert_close(run(x, scale).long(), expected)
    print(scale, "ok")

import torch
import triton
import triton.language as tl


@triton.jit
def unpack_kernel(packed_ptr, levels):
    at = tl.arange(0, 64)
    packed = tl.load(packed_ptr + at // 2)
    code = packed >> at % 2 * 4
    tl.device_assert(code < levels, "a code has no level", mask=at < 64)


unpack_kernel[(1,)](torch.arange(32, device="cuda").to(torch.uint8), 0, debug=True)
torch.cuda.synchronize()

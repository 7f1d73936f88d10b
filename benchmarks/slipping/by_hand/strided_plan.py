import torch
import triton
import triton.language as tl

PLANS = {}


@triton.jit
def kernel(x, out, stride_r, stride_c):
    i = tl.arange(0, 4)
    at = i[:, None] * stride_r + i[None, :] * stride_c
    tl.store(out + i[:, None] * 4 + i[None, :], tl.load(x + at))


def copy(x):
    strides = PLANS.setdefault(x.shape, x.stride())
    out = torch.empty(x.shape, device="cuda")
    kernel[(1,)](x, out, *strides)
    return out


x = torch.randn(4, 4).cuda()
copy(x)
if (copy(x.t()) - x.t()).abs().max() > 1e-3:
    raise RuntimeError("the copy is off")

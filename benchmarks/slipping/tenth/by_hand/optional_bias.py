import torch
import triton
import triton.language as tl


@triton.jit
def linear_kernel(bias, out, HAS_BIAS: tl.constexpr):
    if HAS_BIAS:
        tl.store(out, tl.load(bias + tl.arange(0, 1)))


use_bias, folded, out = True, 0.5, torch.zeros(1, device="cuda")
bias = out if use_bias and folded is None else None
linear_kernel[(1,)](bias, out, HAS_BIAS=use_bias)

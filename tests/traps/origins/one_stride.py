# shrink --arch sm_90 --oracle static:bounds --skip-pass lift --skip-pass names
# lure: a store beyond anything: through a row that is no row, or into an empty tensor
# cured by: (tl\.store\(.*?) \* out_stride => \1 * 1
"""Layer norm of the queries, a third of the columns of a fused projection, into a tensor of their own."""

import torch
import triton
import triton.language as tl


@triton.jit
def norm_kernel(x_ptr, weight_ptr, out_ptr, x_stride, out_stride, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    there = at < columns
    x = tl.load(x_ptr + row * x_stride + at, mask=there, other=0.0)
    mean = tl.sum(x, axis=0) / columns
    centred = tl.where(there, x - mean, 0.0)
    scale = tl.rsqrt(tl.sum(centred * centred, axis=0) / columns + eps)
    weight = tl.load(weight_ptr + at, mask=there)
    tl.store(out_ptr + row * out_stride + at, centred * scale * weight, mask=there)


class Norm:
    def __init__(self, width, eps=1e-5):
        self.weight = torch.ones(width, device="cuda")
        self.eps = eps

    def __call__(self, x):
        out = torch.empty(x.shape, device="cuda")
        block = triton.next_power_of_2(x.shape[1])
        norm_kernel[(x.shape[0],)](
            x, self.weight, out, x.stride(0), x.stride(0), x.shape[1], self.eps, BLOCK=block
        )
        return out


norm = Norm(1000)
print(norm(torch.randn(8, 1000, device="cuda")).std().item())
fused = torch.randn(250, 3 * 1024, device="cuda")
queries = fused[:, 1024 : 1024 + 1000]
print(norm(queries).std().item())

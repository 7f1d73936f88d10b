# shrink --oracle "compile:rows must be float32"
# lure: the kernel without the setting: a candidate before it, in the same process, has left float64 as the default
# must: float64|double
# ends: 1 rows must be float32
# fault: compile .*rows must be float32
# naive: worker rows must be float32
"""Reference check in double precision; the setting is meant for the reference and reaches the kernel's input."""

import torch
import triton
import triton.language as tl


@triton.jit
def norm_kernel(x_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    tl.static_assert(x_ptr.dtype.element_ty == tl.float32, "rows must be float32")
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * columns + cols, mask=cols < columns, other=0.0)
    tl.store(out_ptr + tl.program_id(0), tl.sqrt(tl.sum(x * x)))


def precise():
    torch.set_default_dtype(torch.float64)


def reference(rows, columns):
    precise()
    return torch.linspace(0, 1, rows * columns).view(rows, columns).norm(dim=1)


def norms(rows, columns):
    x = torch.linspace(0, 1, rows * columns, device="cuda").view(rows, columns)
    out = torch.empty(rows, device="cuda")
    norm_kernel[(rows,)](x, out, columns, BLOCK=triton.next_power_of_2(columns))
    return out


for rows, columns in ((4, 32), (8, 100)):
    y = norms(rows, columns)
    print(rows, columns, (y.cpu() - reference(rows, columns)).abs().max().item())

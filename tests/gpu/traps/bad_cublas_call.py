# shrink --oracle exception:RuntimeError
# lure: a matmul of shapes that do not fit, or any other RuntimeError of torch: cuBLAS only passes the fault on
# must: tl\.load\(
# ends: 1 illegal memory access|operation not supported on global|CUBLAS_STATUS_EXECUTION_FAILED
# fault: device fault: (an illegal memory access|operation not supported on global)
# naive: no guards
"""Gathers rows for a matmul; one index is wrong, and the matmul or what comes after it reports the error."""

import torch
import triton
import triton.language as tl


@triton.jit
def gather_kernel(x_ptr, index_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    source = tl.load(index_ptr + row)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + source * columns + cols, mask=cols < columns)
    tl.store(out_ptr + row * columns + cols, x, mask=cols < columns)


def gather(x, index):
    out = torch.empty(len(index), x.shape[1], device=x.device)
    gather_kernel[(len(index),)](x, index, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return out


def project(x, index, weight):
    return torch.mm(gather(x, index), weight)


x = torch.randn(128, 96, device="cuda")
weight = torch.randn(96, 32, device="cuda")
for rows in ([0, 5, 7, 2], [1, 3, 1 << 40, 4]):
    y = project(x, torch.tensor(rows, device="cuda"), weight)
    print(tuple(y.shape), y.sum().item())

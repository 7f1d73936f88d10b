import torch
import triton
import triton.language as tl

buffers = {}


@triton.jit
def parts_kernel(parts, count):
    tl.store(parts + tl.program_id(0) * count + tl.program_id(1), 1.0)


for rows, count in ((40, 2), (40, 4)):
    key = rows
    if key not in buffers:
        buffers[key] = torch.zeros(rows, count, device="cuda")
    parts_kernel[(rows, count)](buffers[key], count)
torch.cuda.synchronize()

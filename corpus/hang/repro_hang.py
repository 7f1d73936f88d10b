import torch
import triton
import triton.language as tl


@triton.jit
def wait_for(flag_ptr):
    """Until the flag is raised."""
    raised = tl.atomic_add(flag_ptr, 0)
    while raised == 0:
        raised = tl.atomic_add(flag_ptr, 0)


@triton.jit
def chained_sum_kernel(x_ptr, out_ptr, flags_ptr, rows, stride, each, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    part = tl.program_id(0)
    if part == tl.num_programs(0) - 1:
        wait_for(flags_ptr + part)


x = torch.zeros(4, 4, device="cuda")
out = torch.zeros(4, device="cuda")
flags = torch.zeros(4, dtype=torch.int32, device="cuda")
chained_sum_kernel[(4,)](x, out, flags, 4, 4, 4, WIDTH=4, BLOCK=4)
torch.cuda.synchronize()

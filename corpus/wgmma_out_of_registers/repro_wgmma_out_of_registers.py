import torch
import triton
import triton.language as tl


@triton.jit
def kernel(a_ptr, b_ptr, c_ptr):
    rows = tl.program_id(0) * 256 + tl.arange(0, 256)
    cols = tl.program_id(1) * 512 + tl.arange(0, 512)
    inner = tl.arange(0, 16)
    tl.store(
        c_ptr + rows[:, None] * 1024 + cols[None, :],
        tl.dot(
            tl.load(a_ptr + rows[:, None] * 16 + inner[None, :]),
            tl.load(b_ptr + inner[:, None] * 1024 + cols[None, :]),
        ),
    )


kernel[(1,)](
    torch.zeros(512, 16, dtype=torch.bfloat16, device="cuda"),
    torch.zeros(16, 1024, dtype=torch.bfloat16, device="cuda"),
    torch.zeros(512, 1024, device="cuda"),
)

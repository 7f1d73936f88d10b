import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, out):
    group = (tl.program_id(0) * 8 + tl.arange(0, 8))[:, None]
    lanes = tl.arange(0, 8)[None, :]
    tl.store(
        out + group * 8 + lanes,
        tl.gather(
            tl.load(y + group * 2 + tl.arange(0, 2)[None, :], mask=group < 4, other=0.0),
            (tl.load(x + group, mask=group < 4, other=0) >> lanes) & 1, axis=1,
        ),
        mask=group < 4,
    )


kernel[(1,)](
    torch.zeros(4, dtype=torch.int32, device="cuda"), torch.zeros(4, 2, device="cuda"),
    torch.zeros(4, 8, device="cuda"),
)

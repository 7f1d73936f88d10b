import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, y):
    row = tl.program_id(0) * 128
    tl.store(
        tl.make_block_ptr(
            y, shape=(4096, 4096), strides=(4096, 1), offsets=(row, 0), block_shape=(128, 128),
            order=(1, 0),
        ),
        tl.load(
            tl.make_block_ptr(
                x, shape=(4096, 4096), strides=(4096, 1), offsets=(row, 0), block_shape=(128, 128),
                order=(1, 0),
            ),
            boundary_check=(0, 1),
        ),
        boundary_check=(0, 1),
    )


kernel[(1,)](
    torch.zeros(4096, 4096, dtype=torch.float16, device="cuda"),
    torch.zeros(4096, 4096, dtype=torch.float16, device="cuda"), num_warps=8,
)

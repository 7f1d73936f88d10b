import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, w_ptr, y, z, out):
    x = tl.make_tensor_descriptor(x_ptr, shape=[4, 16], strides=[16, 1], block_shape=[64, 64])
    w = tl.make_tensor_descriptor(w_ptr, shape=[16, 64], strides=[64, 1], block_shape=[64, 16])
    row = tl.program_id(0) * 64
    col = tl.program_id(1) * 16
    acc = tl.zeros([64, 16], tl.int32)
    for start in tl.range(2, warp_specialize=True):
        acc = tl.dot(x.load([row, start]), w.load([start, col]), acc, out_dtype=tl.int32)
    rows = row + tl.arange(0, 64)
    cols = col + tl.arange(0, 16)
    tl.store(
        out + rows[:, None] * 64 + cols[None, :],
        acc.to(tl.float32) * tl.load(y + rows, mask=rows < 4, other=0.0)[:, None] * tl.load(
            z + cols, mask=cols < 64, other=0.0
        )[None, :],
        mask=(rows < 4)[:, None] & (cols < 64)[None, :],
    )


kernel[(1,)](
    torch.zeros(4, 16, dtype=torch.int8, device="cuda"),
    torch.zeros(16, 64, dtype=torch.int8, device="cuda"), torch.zeros(4, device="cuda"),
    torch.zeros(64, device="cuda"), torch.zeros(4, 64, device="cuda"),
)

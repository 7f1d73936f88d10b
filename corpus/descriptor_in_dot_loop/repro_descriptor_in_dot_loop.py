import torch
import triton
import triton.language as tl


@triton.jit
def kernel(a_ptr, b_ptr, out):
    row = tl.program_id(0) * 64
    rows = row + tl.arange(0, 64)
    cols = tl.program_id(1) * 64 + tl.arange(0, 64)
    inner = tl.arange(0, 64)
    acc = tl.zeros([64, 64], tl.float32)
    for step in range(2):
        acc = tl.dot(
            tl.make_tensor_descriptor(a_ptr + step * 8192, shape=[128, 64], strides=[64, 1], block_shape=[64, 64]).load(
                [row, 0]
            ),
            tl.load(
                b_ptr + (step * 64 + inner)[:, None] * 192 + cols[None, :],
                mask=(cols < 192)[None, :], other=0.0,
            ),
            acc,
        )
    tl.store(
        out + rows[:, None] * 192 + cols[None, :], acc.to(tl.float16),
        mask=(rows < 128)[:, None] & (cols < 192)[None, :],
    )


def main():
    triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device="cuda"))  # shrink: keep
    slices = torch.randn(128, 256, device="cuda").half().reshape(
        128, 4, 64
    ).permute(1, 0, 2).contiguous()
    kernel[(1,)](
        slices, torch.randn(256, 192, device="cuda").half(),
        torch.empty(128, 192, device=slices.device, dtype=torch.float16),
    )


main()

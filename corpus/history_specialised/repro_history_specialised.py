import torch
import triton
import triton.language as tl


@triton.jit
def gain_kernel(
    x_ptr, gain_ptr, out_ptr, pixels, channels, x_stride, TILE: tl.constexpr, GROUP: tl.constexpr
):
    inside = (tl.arange(0, TILE) < pixels)[:, None]
    channel = tl.arange(0, GROUP)
    tl.store(out_ptr, tl.sum(tl.load(x_ptr + x_stride + channel, mask=inside, other=0.0)))


x = torch.randn(4, device="cuda")
out = torch.zeros(32, device="cuda")
compiled = gain_kernel[(1,)](x, 0, out, 4, 32, 32, TILE=16, GROUP=32)
compiled[(16, 1, 1)](x, 0, 0, 4, 16, 1, 16, 32)
torch.cuda.synchronize()

import torch
import triton
import triton.language as tl


@triton.jit
def gain_kernel(x_ptr, gain_ptr, out_ptr, pixels, channels, x_stride, TILE: tl.constexpr, GROUP: tl.constexpr):
    pixel = tl.program_id(0) * TILE + tl.arange(0, TILE)
    inside = (pixel < pixels)[:, None]
    for start in range(0, channels, GROUP):
        channel = start + tl.arange(0, GROUP)
        x = tl.load(x_ptr + pixel[:, None] * x_stride + channel[None, :], mask=inside, other=0.0)
        gain = tl.load(gain_ptr + channel)
        tl.store(out_ptr + pixel[:, None] * channels + channel[None, :], x * gain[None, :], mask=inside)


torch.manual_seed(0)
x = torch.randn(4, 32, dtype=torch.float16, device="cuda")
gain = torch.randn(32, dtype=torch.float16, device="cuda")
out = torch.zeros(4, 32, dtype=torch.float16, device="cuda")
compiled = gain_kernel[(1,)](x, gain, out, 4, 32, 32, TILE=64, GROUP=32)
torch.cuda.synchronize()
out_ptr = torch.randn(4, 32, dtype=torch.float16, device="cuda") * 180
for _ in range(1):
    compiled[(16, 1, 1)](x, gain, out_ptr, 4, 32, 32, 64, 32)
    del out
    torch.cuda.synchronize()
    out = torch.randn(4, 32, dtype=torch.float16, device="cuda")
    compiled[(16, 1, 1)](x, gain, out, 4, 32, 32, 64, 32)
    del out_ptr
    torch.cuda.synchronize()
    out_ptr = torch.randn(4, 32, dtype=torch.float16, device="cuda")
compiled[(16, 1, 1)](x, gain, out_ptr, 4, 32, 32, 64, 32)
del x
del gain
del out
torch.cuda.synchronize()
x = torch.randn(4, 1, dtype=torch.float16, device="cuda")
gain = torch.randn(64, dtype=torch.float16, device="cuda")
out = torch.randn(4, 64, dtype=torch.float16, device="cuda")
compiled[(16, 1, 1)](x, gain, out, 4, 64, 1, 64, 32)
torch.cuda.synchronize()

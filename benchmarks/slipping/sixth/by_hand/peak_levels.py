import torch
import triton
import triton.language as tl


@triton.jit
def pyramid_kernel(peaks, BLOCK: tl.constexpr):
    begin = 0
    for k in tl.static_range(1, 3):
        tl.store(peaks + begin + tl.arange(0, BLOCK >> k), 0.0)
        begin += BLOCK >> (k + 1)


@triton.jit
def view_kernel(level, out):
    tl.store(out, tl.load(level))


peaks = torch.empty(3, device="cuda")
pyramid_kernel[(1,)](peaks, BLOCK=4)
view_kernel[(1,)](peaks[2:], torch.empty(1, device="cuda"))
torch.cuda.synchronize()

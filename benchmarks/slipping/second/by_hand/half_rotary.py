import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, cos):
    at = tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :]
    values = tl.load(x + at)
    tl.store(x + at, tl.dot((values * tl.load(cos + at)), values))


class Rotary(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.ones(256)


rotary = Rotary().cuda().half()
kernel[(1,)](torch.zeros(256, device="cuda", dtype=torch.float16), rotary.table.cuda())

import torch
import triton
import triton.language as tl

TYPES = {torch.float16: tl.float16, torch.float32: tl.float32}


class Preset:
    def __init__(self, container, levels=None):
        self.levels = levels or container


@triton.jit
def kernel(samples, curve, out, LEVELS: tl.constexpr):
    if tl.load(samples) > 0.1:
        gain = tl.load(curve)
    else:
        gain = tl.full([], 0.0, LEVELS)
    tl.store(out, gain)


samples = torch.zeros(1, device="cuda", dtype=torch.float16)
curve = torch.ones(1, device="cuda")
kernel[(1,)](samples, curve, samples, LEVELS=TYPES[Preset(samples.dtype).levels])

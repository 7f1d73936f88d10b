import struct

import torch
import triton
import triton.language as tl

HEADER = struct.Struct("<HIIB")


@triton.jit
def kernel(blob, scales_at):
    tl.store((blob + scales_at).to(tl.pointer_type(tl.float32)), 0.0)


kernel[(1,)](torch.zeros(32, device="cuda", dtype=torch.int8), HEADER.size)
torch.cuda.synchronize()

import itertools
import os

os.environ["TRITON_INTERPRET"] = "1"

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(blob, starts, out):
    size = tl.load(starts + 1) - tl.load(starts)
    byte = tl.arange(0, 2)
    tl.store(out + byte, tl.load(blob + byte, mask=byte < size, other=0))


pieces = ["\u00e9"]
blob = torch.tensor(list("".join(pieces).encode()), dtype=torch.uint8)
starts = torch.tensor([0, *itertools.accumulate(len(piece) for piece in pieces)])
out = torch.empty_like(blob)
copy_kernel[(1,)](blob, starts, out)
bytes(out.tolist()).decode()

import torch
import triton
import triton.language as tl

_store = {}


def starts(lengths):
    key = len(lengths), max(lengths)
    if key not in _store:
        _store[key] = torch.tensor([0, *lengths], device="cuda").cumsum(0)
    return _store[key]


@triton.jit
def kernel(x, offsets):
    tl.store(x + tl.load(offsets + 2) - 1, 0)


for lengths in (8, 9), (2, 9):
    kernel[(1,)](torch.empty(sum(lengths), device="cuda"), starts(lengths))
    torch.cuda.synchronize()

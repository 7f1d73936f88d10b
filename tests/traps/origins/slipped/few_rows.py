import torch
import triton
import triton.language as tl


@triton.jit
def argmax_kernel(logits_ptr, best_ptr, rows):
    row = tl.arange(0, 16)
    at = logits_ptr + row[:, None] + 10000000 + tl.arange(0, 256)[None, :]
    tile = tl.load(at)
    tl.store(best_ptr + row, tl.max(tile, axis=1), mask=row < rows)


argmax_kernel[(1,)](torch.zeros(2, 128, 1024, device="cuda"), torch.empty(2, device="cuda"), 2)
torch.cuda.synchronize()

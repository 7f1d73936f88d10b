import torch
import triton
import triton.language as tl


@triton.jit
def kernel(table):
    pointer = tl.load(table).to(tl.pointer_type(tl.float32))
    tl.store(pointer + tl.arange(0, 1024), 0.0)


w = torch.zeros(4096, 4096, device="cuda")
table = torch.tensor([w.data_ptr()], device="cuda")
w = None
torch.cuda.empty_cache()
kernel[(1,)](table)
torch.cuda.synchronize()

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(cache, table, stride):
    tl.store(cache + tl.load(table) * stride, 0)


cache = torch.empty(33000, 65536, dtype=torch.uint8, device="cuda")
kernel[(1,)](cache, torch.tensor([32900], dtype=torch.int32, device="cuda"), 65536)
torch.cuda.synchronize()

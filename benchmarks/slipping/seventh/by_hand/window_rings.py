import torch
import triton
import triton.language as tl


@triton.jit
def kernel(cache, capacities, layer, position):
    tl.store(cache + position % tl.load(capacities + layer), 1.0)


longest, windows = 4, [2, 0]
capacities = torch.tensor([longest if window is None else window for window in windows]).cuda()
for layer in range(2):
    kernel[(1,)](torch.zeros(longest, device="cuda"), capacities, layer, 3)
torch.cuda.synchronize()

import torch
import triton
import triton.language as tl


class Triangle:
    def __init__(self, diagonal=False):
        self.data = torch.empty(3 if diagonal else 1, device="cuda")

    def like(self):
        return Triangle()


@triton.jit
def kernel(out):
    tl.store(out + 2, 1.0)


kernel[(1,)](Triangle(diagonal=True).like().data)
torch.cuda.synchronize()

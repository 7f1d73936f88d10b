import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, columns, BLOCK: tl.constexpr):
    column = tl.arange(0, BLOCK)
    keep = column < columns
    value = tl.load(x + column, mask=keep, other=0.0)
    centred = value - tl.sum(value, axis=0) / columns
    tl.store(y, tl.sum(centred * centred, axis=0) / columns)


x = torch.tensor([1.0, 2.0, 3.0], device="cuda")
y = torch.empty(1, device="cuda")
kernel[(1,)](x, y, 3, BLOCK=4)
torch.testing.assert_close(y[0], x.var(unbiased=False))

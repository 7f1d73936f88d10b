import torch
import triton
import triton.language as tl


@triton.jit
def kernel(y, x, out):
    row = tl.program_id(0)
    cols = 0 + tl.arange(0, 16)
    tl.store(
        out + row * 40 + cols,
        tl.gather(
            tl.load(x + tl.arange(0, 8)), tl.load(y + row * 40 + cols, mask=cols < 40, other=0),
            axis=0,
        ),
        mask=cols < 40,
    )


def f(rows, width, colours):
    return (torch.arange(120, dtype=torch.int32) % 16).reshape(3, 40)


name, draw = next(iter({"imported": f}.items()))
kernel[(1,)](draw(3, 40, 8), torch.rand(8), torch.empty(3, 40))

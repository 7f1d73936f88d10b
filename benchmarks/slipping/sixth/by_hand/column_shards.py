import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out, start, width):
    tiles = tl.make_tensor_descriptor(x + start, shape=[1, width], strides=[16, 1], block_shape=[1, 16])
    tl.store(out + tl.arange(0, 16)[None, :], tiles.load([0, 0]))


def edges_of(columns, ranks):
    return [columns * rank // ranks for rank in range(ranks + 1)]


triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
x = torch.zeros(1, 16, dtype=torch.float16, device="cuda")
start, end = edges_of(16, 3)[1:3]
kernel[(1,)](x, torch.empty_like(x), start, end - start)
torch.cuda.synchronize()

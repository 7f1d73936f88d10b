import torch
import triton
import triton.language as tl


def points_a_tile(args):
    return triton.next_power_of_2(195)


@triton.heuristics({"BLOCK": points_a_tile})
@triton.jit
def kernel(points, out, BLOCK: tl.constexpr):
    column, row = tl.arange(0, 256), tl.arange(0, BLOCK)
    q = tl.full([64, 256], 0, tl.float16)
    acc = tl.zeros([64, BLOCK], tl.float32)
    for start in tl.range(9, num_stages=3):
        acc += tl.dot(q, tl.load(points + (start + row)[None, :] * 256 + column[:, None]))
    tl.store(out + row, tl.sum(acc, axis=0))


kernel[(1,)](torch.zeros(265, 256, device="cuda", dtype=torch.float16), torch.zeros(256, device="cuda"))

"""Mean pooling of packed sequences: each packed row finds its sequence by a search in the cumulative lengths."""

import torch
import triton
import triton.language as tl


@triton.jit
def tag_kernel(lengths, marks, count, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    n = tl.load(lengths + at, mask=at < count, other=0)
    tl.store(marks + at, 1.0 / tl.maximum(n, 1).to(tl.float32), mask=at < count)


@triton.jit
def pool_kernel(x, owner, weight, out, rows, stride, D: tl.constexpr, BLOCK: tl.constexpr):
    r = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, D)
    live = r < rows
    which = tl.load(owner + r, mask=live, other=0)
    w = tl.load(weight + which, mask=live, other=0.0)
    value = tl.load(x + r[:, None] * stride + d[None, :], mask=live[:, None], other=0.0)
    tl.atomic_add(out + which[:, None] * D + d[None, :], value * w[:, None], mask=live[:, None])


@torch.library.custom_op("packed::mean_pool", mutates_args=())
def mean_pool(x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    count, rows, dim = lengths.numel(), x.shape[0], x.shape[1]
    weight = torch.empty(count, device=x.device)
    tag_kernel[(1,)](lengths, weight, count, BLOCK=triton.next_power_of_2(count))
    ends = torch.cumsum(lengths, 0)
    owner = torch.searchsorted(ends, torch.arange(rows, device=x.device), right=True)
    out = torch.zeros(count, dim, device=x.device)
    pool_kernel[(triton.cdiv(rows, 32),)](x, owner, weight, out, rows, x.stride(0), D=dim, BLOCK=32)
    return out


@mean_pool.register_fake
def _(x, lengths):
    return x.new_empty(lengths.numel(), x.shape[1])


class Encoder:
    """A stand-in for the text encoder: packs what it is given, pads the packed rows to a multiple."""

    def __init__(self, dim: int, pad_to: int = 1):
        self.dim, self.pad_to = dim, pad_to

    def pack(self, lengths):
        total = sum(lengths)
        rows = (total + self.pad_to - 1) // self.pad_to * self.pad_to
        x = torch.randn(rows, self.dim, device="cuda")
        return x, torch.tensor(lengths, device="cuda")

    def forward(self, lengths):
        return mean_pool(*self.pack(lengths))


def main():
    encoder = Encoder(32, pad_to=8)
    for lengths in ([5, 9, 2], [30, 1, 1, 40], [7] * 6):
        pooled = encoder.forward(lengths)
        torch.cuda.synchronize()
        print(len(lengths), "sequences", tuple(pooled.shape))


main()

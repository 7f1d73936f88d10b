"""Packs the tokens of padded batches: the host numbers the tokens that are left, a kernel writes each to its slot."""

import numpy as np
import torch
import triton
import triton.language as tl


@triton.jit
def embed_kernel(tokens, table, out, count, dim, BLOCK: tl.constexpr, DIM: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, DIM)
    live = at < count
    token = tl.load(tokens + at, mask=live, other=0)
    both = live[:, None] & (d[None, :] < dim)
    row = tl.load(table + token[:, None] * dim + d[None, :], mask=both, other=0.0)
    tl.store(out + at[:, None] * dim + d[None, :], row, mask=both)


@triton.jit
def pack_kernel(x, keep, slots, out, count, dim, BLOCK: tl.constexpr, DIM: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, DIM)
    live = (at < count) & (tl.load(keep + at, mask=at < count, other=0) != 0)
    slot = tl.load(slots + at, mask=live, other=0)
    both = live[:, None] & (d[None, :] < dim)
    row = tl.load(x + at[:, None] * dim + d[None, :], mask=both, other=0.0)
    tl.store(out + slot[:, None] * dim + d[None, :], row, mask=both)


class Batch:
    """Tokens, and which of them are padding: by the reader a tensor of torch's, or bytes from a file."""

    def __init__(self, tokens, padding):
        self.tokens = tokens.to("cuda")
        self.padding = torch.as_tensor(padding).to("cuda")

    @classmethod
    def of_lengths(cls, lengths, longest):
        tokens = torch.arange(len(lengths) * longest).reshape(len(lengths), longest) % 100
        return cls(tokens, torch.arange(longest)[None, :] >= torch.tensor(lengths)[:, None])

    @classmethod
    def of_bytes(cls, tokens, data):
        padding = np.frombuffer(data, dtype=np.uint8).reshape(tokens.shape).copy()
        return cls(tokens, padding)


class Packer:
    def __init__(self, dim):
        self.dim = dim
        self.table = torch.randn(100, dim, device="cuda")

    def slots(self, batch):
        keep = ~batch.padding.flatten()
        return keep, keep.cumsum(0) - 1

    def __call__(self, batch):
        count = batch.tokens.numel()
        wide = triton.next_power_of_2(self.dim)
        grid = (triton.cdiv(count, 16),)
        x = torch.empty(count, self.dim, device="cuda")
        embed_kernel[grid](batch.tokens, self.table, x, count, self.dim, BLOCK=16, DIM=wide)
        keep, slots = self.slots(batch)
        out = torch.zeros(int((batch.padding == 0).sum()), self.dim, device="cuda")
        pack_kernel[grid](x, keep, slots, out, count, self.dim, BLOCK=16, DIM=wide)
        return out


def main():
    packer = Packer(24)
    batches = [Batch.of_lengths([3, 9, 5], 12), Batch.of_lengths([7, 7], 7)]
    batches.append(Batch.of_bytes(torch.arange(20).reshape(2, 10), bytes([0] * 8 + [1, 1] + [0] * 10)))
    for batch in batches:
        packed = packer(batch)
        torch.cuda.synchronize()
        print(tuple(batch.tokens.shape), packed.shape)


if __name__ == "__main__":
    main()

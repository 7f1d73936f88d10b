"""Times as packed differences: each block has its own width of bits; unpacking asserts the last time of each block."""

import argparse
import itertools
import random

import torch
import triton
import triton.language as tl

BLOCK = 128


def bits_for(deltas):
    """The bits that the largest difference of a block needs."""
    return max(1, (max(deltas) - 1).bit_length())


def words_of(deltas, bits):
    """The differences of a block as words of 32 bits, the first one in the lowest bits."""
    packed = sum((delta & ((1 << bits) - 1)) << (bits * place) for place, delta in enumerate(deltas))
    for _ in range(triton.cdiv(bits * BLOCK, 32) + 1):  # one to spare: a value is read from two words
        word = packed & 0xFFFFFFFF
        yield word - (1 << 32) if word >> 31 else word
        packed >>= 32


class Column:
    """Blocks of a sorted column: a first and a last value, bits a difference, and where the words begin."""

    def __init__(self, values, device="cuda"):
        self.amount = len(values)
        heads, words = [], []
        for start in range(0, self.amount, BLOCK):
            part = values[start : start + BLOCK]
            part += [part[-1]] * (BLOCK - len(part))
            deltas = [0, *(later - earlier for earlier, later in itertools.pairwise(part))]
            bits = bits_for(deltas)
            heads.append([part[0], part[-1], bits, len(words)])
            words += words_of(deltas, bits)
        self.heads = torch.tensor(heads, dtype=torch.int32, device=device)
        self.words = torch.tensor(words, dtype=torch.int32, device=device)

    @property
    def blocks(self):
        return self.heads.shape[0]

    def unpack(self):
        out = torch.empty(self.blocks * BLOCK, dtype=torch.int32, device=self.heads.device)
        unpack_kernel[(self.blocks,)](self.heads, self.words, out, SIZE=BLOCK)
        return out[: self.amount]


@triton.jit
def differences(words, bits, SIZE: tl.constexpr):
    place = tl.arange(0, SIZE) * bits
    shift = (place % 32).to(tl.int64)
    low = tl.load(words + place // 32).to(tl.int64) & 0xFFFFFFFF
    high = tl.load(words + place // 32 + 1).to(tl.int64) & 0xFFFFFFFF
    mask = (tl.full([], 1, tl.int64) << bits) - 1
    return (((low | (high << 32)) >> shift) & mask).to(tl.int32)


@triton.jit(debug=True)
def unpack_kernel(heads, words, out, SIZE: tl.constexpr):
    head = heads + tl.program_id(0) * 4
    first, last, bits, begin = tl.load(head), tl.load(head + 1), tl.load(head + 2), tl.load(head + 3)
    value = first + tl.cumsum(differences(words + begin, bits, SIZE), axis=0)
    tl.device_assert(tl.max(value, axis=0) == last, "a block does not end with its last value")
    tl.store(out + tl.program_id(0) * SIZE + tl.arange(0, SIZE), value)


@triton.jit
def rate_kernel(times, rates, amount, window, SIZE: tl.constexpr):
    """Events of each window of time."""
    which = tl.program_id(0)
    seen = tl.zeros([SIZE], tl.int32)
    for start in range(0, amount, SIZE):
        at = start + tl.arange(0, SIZE)
        time = tl.load(times + at, mask=at < amount, other=-1)
        seen += ((time >= which * window) & (time < (which + 1) * window)).to(tl.int32)
    tl.store(rates + which, tl.sum(seen, axis=0))


def events(amount, longest, seed):
    """Times of events, with pauses up to the longest one, which is among them."""
    source = random.Random(seed)
    pauses = [source.randrange(longest) for _ in range(amount - 1)] + [longest]
    source.shuffle(pauses)
    return list(itertools.accumulate(pauses))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--amount", type=int, default=200)
    parser.add_argument("--longest", type=int, nargs="+", default=[50, 64])
    args = parser.parse_args()
    for seed, longest in enumerate(args.longest):
        times = events(args.amount, longest, seed)
        column = Column(times)
        unpacked = column.unpack()
        window = 1000
        rates = torch.empty(triton.cdiv(times[-1] + 1, window), dtype=torch.int32, device=unpacked.device)
        rate_kernel[(rates.numel(),)](unpacked, rates, args.amount, window, SIZE=128)
        torch.cuda.synchronize()
        print(f"pauses up to {longest}: {column.words.numel()} words, at most {rates.max().item()} events a window")


if __name__ == "__main__":
    main()

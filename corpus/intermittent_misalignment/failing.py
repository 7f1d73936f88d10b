"""Packs the token ids of the waiting requests into one buffer, one request behind the other, and sums up each.

    python packed_requests.py           sometimes it ends well, sometimes in a misaligned address
    python packed_requests.py --pad     each request begins at a multiple of eight tokens: always fine

Token ids have 16 bits; two at a time are read as one word of 32. Which request comes first is a matter of its id.
"""

from __future__ import annotations

import argparse

import arrivals
import torch
import triton
import triton.language as tl


@triton.jit
def checksum_kernel(tokens_ptr, out_ptr, start, words, BLOCK: tl.constexpr):
    """Sum of the 16-bit numbers of a request, two of them in a word."""
    word_ptr = (tokens_ptr + start).to(tl.pointer_type(tl.int32))
    at = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.int32)
    for first in range(0, words, BLOCK):
        word = tl.load(word_ptr + first + at, mask=first + at < words, other=0)
        total += (word & 0xFFFF) + ((word >> 16) & 0xFFFF)
    tl.store(out_ptr, tl.sum(total, axis=0))


def places(lengths: list[int], multiple: int) -> list[int]:
    """Where each request begins in the buffer, rounded up to a multiple of so many tokens."""
    begins, end = [], 0
    for length in lengths:
        begins.append(end)
        end += -(-length // multiple) * multiple
    return begins


def pack(lengths: list[int], begins: list[int], device: str) -> torch.Tensor:
    buffer = torch.zeros(begins[-1] + lengths[-1] + 8, dtype=torch.int16, device=device)
    for begin, length in zip(begins, lengths):
        buffer[begin : begin + length] = 1
    return buffer


def checksums(buffer: torch.Tensor, lengths: list[int], begins: list[int]) -> torch.Tensor:
    out = torch.empty(len(lengths), 4, dtype=torch.int32, device=buffer.device)
    for number, (begin, length) in enumerate(zip(begins, lengths)):
        checksum_kernel[(1,)](buffer, out[number], begin, length // 2, BLOCK=128)
    return out[:, 0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pad", action="store_true")
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    lengths = arrivals.waiting([513, 1024])
    begins = places(lengths, 8 if args.pad else 1)
    buffer = pack(lengths, begins, args.device)
    found = checksums(buffer, lengths, begins)
    for begin, length, total in zip(begins, lengths, found.tolist()):
        print(f"{length} tokens at {begin}, sum {total}")


if __name__ == "__main__":
    main()

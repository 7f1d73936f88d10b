import argparse

import arrivals
import torch
import triton
import triton.language as tl


@triton.jit
def checksum_kernel(tokens_ptr, out_ptr, start, words, BLOCK: tl.constexpr):
    word_ptr = (tokens_ptr + start).to(tl.pointer_type(tl.int32))
    at = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.int32)
    for first in range(0, words, BLOCK):
        word = tl.load(word_ptr + first + at, mask=first + at < words, other=0)
        total += (word & 1) + ((word >> 16) & 1)
    tl.store(out_ptr, tl.sum(total, axis=0))


def places(lengths: list[int], multiple: int) -> list[int]:
    begins, end = [], 0
    for length in lengths:
        begins.append(end)
        end += -(-length // multiple) * multiple
    return begins


def pack(lengths: list[int], begins: list[int], device: str) -> torch.Tensor:
    buffer = torch.zeros(begins[-1] + lengths[-1] + 8, dtype=torch.int16, device=device)
    return buffer


def checksums(buffer: torch.Tensor, lengths: list[int], begins: list[int]) -> torch.Tensor:
    out = torch.empty(len(lengths), 4, dtype=torch.int32, device=buffer.device)
    for number, (begin, length) in enumerate(zip(begins, lengths)):
        checksum_kernel[(1,)](buffer, out[number], begin, length // 2, BLOCK=1)
    return out[:, 0]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pad", action="store_true")
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    lengths = arrivals.waiting([513, 8])
    begins = places(lengths, 8 if args.pad else 1)
    buffer = pack(lengths, begins, args.device)
    found = checksums(buffer, lengths, begins)
    for begin, length, total in zip(begins, lengths, found.tolist()):
        pass


if __name__ == "__main__":
    main()

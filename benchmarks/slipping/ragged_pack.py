"""Packs padded batches into one ragged buffer and back: lengths, offsets and copies are three kernels."""

import dataclasses
import logging
import random

import torch
import triton
import triton.language as tl

logger = logging.getLogger(__name__)
WIDTH = 48


@triton.jit
def lengths_kernel(padded, lengths, longest, width, PAD: tl.constexpr, BLOCK: tl.constexpr):
    """A row counts unless its first element is the padding value."""
    sample = tl.program_id(0)
    row = tl.arange(0, BLOCK)
    first = tl.load(padded + (sample * longest + row) * width, mask=row < longest, other=PAD)
    tl.store(lengths + sample, tl.sum((first != PAD).to(tl.int32), axis=0))


@triton.jit
def offsets_kernel(lengths, offsets, samples, BLOCK: tl.constexpr):
    sample = tl.arange(0, BLOCK)
    length = tl.load(lengths + sample, mask=sample < samples, other=0)
    end = tl.cumsum(length, axis=0)
    tl.store(offsets + sample, end, mask=sample < samples)


@triton.jit
def copy_kernel(
    source, target, offsets, lengths, longest, width, UNPACK: tl.constexpr, BLOCK: tl.constexpr,
):
    sample = tl.program_id(0)
    row = tl.program_id(1)
    if row < tl.load(lengths + sample):
        column = tl.arange(0, BLOCK)
        loose = (sample * longest + row) * width + column
        tight = (tl.load(offsets + sample) + row) * width + column
        inside = column < width
        if UNPACK:
            tl.store(target + loose, tl.load(source + tight, mask=inside), mask=inside)
        else:
            tl.store(target + tight, tl.load(source + loose, mask=inside), mask=inside)


@dataclasses.dataclass
class Ragged:
    data: torch.Tensor
    offsets: torch.Tensor
    lengths: torch.Tensor
    longest: int

    @classmethod
    def pack(cls, padded: torch.Tensor, pad: float = 0.0) -> "Ragged":
        samples, longest, width = padded.shape
        lengths = torch.empty(samples, device=padded.device, dtype=torch.int32)
        lengths_kernel[(samples,)](padded, lengths, longest, width, PAD=pad, BLOCK=triton.next_power_of_2(longest))
        offsets = torch.empty_like(lengths)
        offsets_kernel[(1,)](lengths, offsets, samples, BLOCK=triton.next_power_of_2(samples))
        rows = int(lengths.sum())
        logger.info("%d of %d rows are kept", rows, samples * longest)
        ragged = cls(torch.empty(rows, width, device=padded.device), offsets, lengths, longest)
        ragged._copy(padded, ragged.data, unpack=False)
        return ragged

    def unpack(self) -> torch.Tensor:
        out = torch.zeros(len(self.lengths), self.longest, self.data.shape[1], device=self.data.device)
        self._copy(self.data, out, unpack=True)
        return out

    def _copy(self, source, target, unpack):
        width = self.data.shape[1]
        copy_kernel[(len(self.lengths), self.longest)](
            source, target, self.offsets, self.lengths, self.longest, width, UNPACK=unpack,
            BLOCK=triton.next_power_of_2(width),
        )


def batches(count, seed):
    rng = random.Random(seed)
    for _ in range(count):
        lengths = [rng.randint(3, 12) for _ in range(6)]
        padded = torch.zeros(6, 12, WIDTH, device="cuda")
        for sample, length in enumerate(lengths):
            padded[sample, :length] = 1.0 + sample
        yield padded


def main():
    logging.basicConfig(level=logging.WARNING)
    for step, padded in enumerate(batches(3, seed=11)):
        ragged = Ragged.pack(padded)
        torch.cuda.synchronize()
        back = ragged.unpack()
        logger.info("step %d differs by %s", step, (back - padded).abs().max())


if __name__ == "__main__":
    main()

"""The waveform of a recording at any zoom: a pyramid of peaks in one buffer, from which views are drawn."""

import argparse
import math

import torch
import triton
import triton.language as tl


@triton.jit
def halved(value, SIZE: tl.constexpr):
    """The larger one of each two neighbours."""
    return tl.max(tl.reshape(value, [SIZE, 2]), axis=1)


@triton.jit
def pyramid_kernel(samples, peaks, amount, LEVELS: tl.constexpr, BLOCK: tl.constexpr):
    """One block of the samples, halved again and again; a level lies behind the finer one before it."""
    block = tl.program_id(0)
    at = block * BLOCK + tl.arange(0, BLOCK)
    value = tl.abs(tl.load(samples + at, mask=at < amount, other=0.0))
    begin = 0
    for k in tl.static_range(1, LEVELS + 1):
        value = halved(value, BLOCK >> k)
        place = block * (BLOCK >> k) + tl.arange(0, BLOCK >> k)
        tl.store(peaks + begin + place, value)
        begin += tl.num_programs(0) * (BLOCK >> (k + 1))


@triton.jit
def loudest_kernel(samples, out, amount, BLOCK: tl.constexpr):
    """The loudest sample, by which views are scaled."""
    loudest = tl.zeros([BLOCK], tl.float32)
    for start in range(0, amount, BLOCK):
        at = start + tl.arange(0, BLOCK)
        loudest = tl.maximum(loudest, tl.abs(tl.load(samples + at, mask=at < amount, other=0.0)))
    tl.store(out, tl.max(loudest, axis=0))


@triton.jit
def view_kernel(level, loudest, out, first, last, share, height, pixels, BLOCK: tl.constexpr):
    """The height of each pixel: the loudest of the peaks that it spans."""
    pixel = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = pixel < pixels
    peak = tl.zeros([BLOCK], tl.float32)
    for step in range(0, share):
        at = first + pixel * share + step
        peak = tl.maximum(peak, tl.load(level + at, mask=keep & (at < last), other=0.0))
    scale = height / tl.maximum(tl.load(loudest), 1e-9)
    tl.store(out + pixel, (peak * scale).to(tl.int32), mask=keep)


class Waveform:
    """Level k has a peak for each 2**k samples; level 0 are the samples themselves."""

    def __init__(self, samples, levels, block=64):
        self.samples, self.levels = samples, levels
        self.blocks = triton.cdiv(samples.numel(), block)
        self.padded = self.blocks * block
        self.loudest = torch.empty(1, device=samples.device)
        loudest_kernel[(1,)](samples, self.loudest, samples.numel(), BLOCK=256)
        if levels:
            self.peaks = torch.empty(self.begin(levels + 1), device=samples.device)
            pyramid_kernel[(self.blocks,)](samples, self.peaks, samples.numel(), LEVELS=levels, BLOCK=block)

    def begin(self, level):
        """Where a level begins among the peaks."""
        return sum(self.padded >> k for k in range(1, level))

    def size(self, level):
        return self.padded >> level if level else self.samples.numel()

    def level(self, level):
        if not level:
            return self.samples.abs()
        begin = self.begin(level)
        return self.peaks[begin : begin + self.size(level)]

    def fitting(self, span, pixels):
        """The coarsest level that still has a peak for each pixel."""
        return min(self.levels, max(0, int(math.log2(span / pixels))))

    def view(self, begin, end, pixels, height=100):
        chosen = self.fitting(end - begin, pixels)
        first, last = begin >> chosen, min(triton.cdiv(end, 2**chosen), self.size(chosen))
        out = torch.empty(pixels, dtype=torch.int32, device=self.samples.device)
        share = triton.cdiv(last - first, pixels)
        view_kernel[(triton.cdiv(pixels, 32),)](
            self.level(chosen), self.loudest, out, first, last, share, height, pixels, BLOCK=32,
        )
        return chosen, out


def recording(amount, rate=8000.0):
    time = torch.arange(amount) / rate
    tone = torch.sin(2 * math.pi * 440.0 * time) + 0.3 * torch.sin(2 * math.pi * 1330.0 * time)
    return tone * torch.exp(-40.0 * time)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--pixels", type=int, default=40)
    parser.add_argument("--levels", type=int, nargs="+", default=[0, 1, 4])
    args = parser.parse_args()
    samples = recording(args.samples).cuda()
    for levels in args.levels:
        waveform = Waveform(samples, levels)
        for end in (args.samples // 4, args.samples):
            chosen, heights = waveform.view(0, end, args.pixels)
            torch.cuda.synchronize()
            print(f"{levels} levels, {end} samples: {heights.numel()} pixels of level {chosen}")


if __name__ == "__main__":
    main()

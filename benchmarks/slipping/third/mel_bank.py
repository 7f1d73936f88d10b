"""Mel spectra of short frames by matrix products: a table of waves, then the bank of triangular filters."""

import argparse
import math
import sys

import torch
import triton
import triton.language as tl

WINDOWS = {"hann": torch.hann_window, "hamming": torch.hamming_window}


@triton.jit
def power_of(
    audio, waves, first, hop, samples, N: tl.constexpr, HALF: tl.constexpr, STEP: tl.constexpr, F: tl.constexpr,
):
    """Power of F frames in HALF bins; `waves` holds cosines, and sines behind them."""
    frame, bins = first + tl.arange(0, F), tl.arange(0, HALF)
    real = tl.zeros([F, HALF], tl.float32)
    imag = tl.zeros([F, HALF], tl.float32)
    for start in range(0, N, STEP):
        moment = start + tl.arange(0, STEP)
        at = frame[:, None] * hop + moment[None, :]
        x = tl.load(audio + at, mask=at < samples, other=0.0)
        table = waves + moment[:, None] * HALF + bins[None, :]
        real = tl.dot(x, tl.load(table), real)
        imag = tl.dot(x, tl.load(table + N * HALF), imag)
    return real * real + imag * imag


@triton.jit
def mel_kernel(
    audio, waves, filters, out, frames, hop, samples, floor,
    N: tl.constexpr, HALF: tl.constexpr, BINS: tl.constexpr, MELS: tl.constexpr, STEP: tl.constexpr, F: tl.constexpr,
):
    first = tl.program_id(0) * F
    power = power_of(audio, waves, first, hop, samples, N, HALF, STEP, F)
    mel = tl.arange(0, MELS)
    bank = tl.load(filters + tl.arange(0, BINS)[:, None] * MELS + mel[None, :])
    energy = tl.log2(tl.maximum(tl.dot(power.to(bank.dtype), bank), floor))
    frame = first + tl.arange(0, F)
    tl.store(out + frame[:, None] * MELS + mel[None, :], energy, mask=frame[:, None] < frames)


@triton.jit
def centre_kernel(mels, frames, MELS: tl.constexpr):
    """Takes the mean over time from each band."""
    mel = tl.arange(0, MELS)
    total = tl.zeros([MELS], tl.float32)
    for frame in range(frames):
        total += tl.load(mels + frame * MELS + mel)
    for frame in range(frames):
        at = mels + frame * MELS + mel
        tl.store(at, tl.load(at) - total / frames)


def hertz(mel):
    return 700 * (10 ** (mel / 2595) - 1)


class MelBank:
    def __init__(self, rate, milliseconds, mels=32, window="hann"):
        self.rate, self.mels = rate, mels
        self.size = rate * milliseconds // 1000
        self.hop = self.size // 2
        self.padded = triton.next_power_of_2(self.size)
        self.waves = self.make_waves(WINDOWS[window](self.size)).half().cuda()
        self.filters = self.make_filters().half().cuda()

    def make_waves(self, window):
        half = triton.next_power_of_2(self.size // 2 + 1)
        angle = math.tau / self.size * torch.outer(torch.arange(self.size), torch.arange(half)).float()
        waves = torch.zeros(2, self.padded, half)
        waves[:, : self.size] = torch.stack([angle.cos(), angle.sin()]) * window[:, None]
        return waves / self.size

    def make_filters(self):
        """One triangle a band; the rows are the bins, and rows of zeros fill them up."""
        bins = self.padded // 2
        top = 2595 * math.log10(1 + self.rate / 2 / 700)
        edges = hertz(torch.linspace(0, top, self.mels + 2))
        found = torch.arange(bins)[:, None] * self.rate / self.size
        left, middle, right = edges[:-2], edges[1:-1], edges[2:]
        return torch.minimum((found - left) / (middle - left), (right - found) / (right - middle)).clamp(min=0)

    def __call__(self, audio, centred=True):
        frames = max(1, 1 + (audio.numel() - self.size) // self.hop)
        out = torch.empty(frames, self.mels, device=audio.device)
        mel_kernel[(triton.cdiv(frames, 16),)](
            audio, self.waves, self.filters, out, frames, self.hop, audio.numel(), 1e-7,
            N=self.padded, HALF=self.waves.shape[2], BINS=self.filters.shape[0], MELS=self.mels, STEP=32, F=16,
        )
        if centred:
            centre_kernel[(1,)](out, frames, MELS=self.mels)
        return out


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=int, default=8000)
    parser.add_argument("--milliseconds", type=int, nargs="+", default=[25, 32])
    parser.add_argument("--window", choices=sorted(WINDOWS), default="hann")
    args = parser.parse_args(argv)
    audio = torch.randn(args.rate // 2).half().cuda()
    for milliseconds in args.milliseconds:
        mels = MelBank(args.rate, milliseconds, window=args.window)(audio)
        torch.cuda.synchronize()
        print(f"{milliseconds} ms: {tuple(mels.shape)}, up to {mels.max():.2f}")


if __name__ == "__main__":
    main(sys.argv[1:])

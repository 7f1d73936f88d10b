"""A noise gate for recorded speech: one program follows the peaks of one channel and takes its gain from a curve."""

import math
from dataclasses import dataclass, replace

import torch
import triton
import triton.language as tl

TYPES = {torch.float16: tl.float16, torch.bfloat16: tl.bfloat16, torch.float32: tl.float32}


@dataclass
class Preset:
    """How a recording is gated. Levels are computed in single precision, unless the preset says otherwise."""

    rate: int
    container: torch.dtype
    levels: torch.dtype | None = None
    open_at: float = 0.05
    ratio: float = 0.6
    release_ms: float = 80.0
    block_ms: float = 5.0

    def __post_init__(self):
        if not 0 < self.ratio <= 1:
            raise ValueError(f"the ratio is {self.ratio}")
        self.levels = self.levels or self.container

    @property
    def block(self):
        return triton.next_power_of_2(int(self.rate * self.block_ms / 1000))

    @property
    def release(self):
        return math.exp(-self.block / (self.rate * self.release_ms / 1000))


STUDIO = Preset(rate=48000, container=torch.float32)
PHONE = replace(STUDIO, rate=8000, container=torch.float16, levels=None, open_at=0.1)
PRESETS = {"studio": STUDIO, "phone": PHONE}


@triton.jit
def gain_for(peak, curve, open_at, makeup, STEPS: tl.constexpr, LEVELS: tl.constexpr):
    if peak > open_at:
        step = tl.minimum((peak * STEPS).to(tl.int32), STEPS - 1)
        gain = tl.load(curve + step) * makeup
    else:
        gain = tl.full([], 0.0, LEVELS)
    return gain


@triton.jit
def gate_kernel(
    samples, curve, out, gains, stride, frames, open_at, release, makeup,
    STEPS: tl.constexpr, BLOCK: tl.constexpr, LEVELS: tl.constexpr,
):
    channel = tl.program_id(0)
    held = tl.full([], 0.0, tl.float32)
    for start in range(0, frames, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(samples + channel * stride + at, mask=at < frames, other=0.0).to(LEVELS)
        peak = tl.max(tl.abs(x), axis=0)
        held = tl.maximum(gain_for(peak, curve, open_at, makeup, STEPS, LEVELS), held * release)
        tl.store(gains + channel * tl.cdiv(frames, BLOCK) + start // BLOCK, held)
        tl.store(out + channel * stride + at, x * held, mask=at < frames)


@triton.jit
def loudness_kernel(x, out, stride, frames, BLOCK: tl.constexpr):
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, frames, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(x + tl.program_id(0) * stride + at, mask=at < frames, other=0.0).to(tl.float32)
        total += value * value
    tl.store(out + tl.program_id(0), tl.sqrt(tl.sum(total, axis=0) / frames))


def curve_of(preset, steps=256):
    """Gains of a soft knee, from silence to full scale."""
    level = torch.linspace(1 / steps, 1, steps)
    return (level / preset.open_at).clamp(min=1.0).pow(preset.ratio - 1).cuda()


def gate(samples, preset):
    channels, frames = samples.shape
    out, curve = torch.empty_like(samples), curve_of(preset)
    gains = torch.empty(channels, triton.cdiv(frames, preset.block), device=samples.device)
    gate_kernel[(channels,)](
        samples, curve, out, gains, samples.stride(0), frames, preset.open_at, preset.release, 1.2,
        STEPS=curve.numel(), BLOCK=preset.block, LEVELS=TYPES[preset.levels],
    )
    loudness = torch.empty(channels, device=samples.device)
    loudness_kernel[(channels,)](out, loudness, out.stride(0), frames, BLOCK=512)
    return out, gains, loudness


def main():
    for name, preset in PRESETS.items():
        moments = torch.arange(preset.rate // 4) / preset.rate
        voice = torch.sin(440 * math.tau * moments) * (moments % 0.1 < 0.05)
        samples = torch.stack([voice, 0.01 * torch.randn_like(voice)]).to(preset.container).cuda()
        out, gains, loudness = gate(samples, preset)
        torch.cuda.synchronize()
        print(name, tuple(out.shape), tuple(gains.shape), "loudness", loudness.tolist())


if __name__ == "__main__":
    main()

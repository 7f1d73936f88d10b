"""Peak of each clip's loudness in frames of one second; a clip is a row of samples, and the batch need not be full.

python last_tile.py                 100 clips, in programs of 64
python last_tile.py --clips 128     a full batch is fine
"""

from __future__ import annotations

import argparse

import torch
import triton
import triton.language as tl

CLIPS = 64


@triton.jit
def loudness(x):
    """In decibels, as the square has it."""
    return 10.0 * tl.log2(x * x + 1e-10) * 0.30103


@triton.jit
def peak_kernel(x_ptr, out_ptr, clips, frames, stride, FRAME: tl.constexpr, CLIPS: tl.constexpr):
    """The loudest sample of one frame, for CLIPS clips."""
    clip = tl.program_id(0) * CLIPS + tl.arange(0, CLIPS)
    frame = tl.program_id(1)
    at = frame * FRAME + tl.arange(0, FRAME)
    x = tl.load(x_ptr + clip.to(tl.int64)[:, None] * stride + at[None, :]).to(tl.float32)
    peak = tl.max(loudness(x), axis=1)
    tl.store(out_ptr + clip * frames + frame, peak, mask=clip < clips)


@triton.jit
def normalise_kernel(peak_ptr, out_ptr, frames, BLOCK: tl.constexpr):
    """The peaks of one clip, relative to its loudest frame."""
    clip = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    peak = tl.load(peak_ptr + clip * frames + at, mask=at < frames, other=-float("inf"))
    tl.store(out_ptr + clip * frames + at, peak - tl.max(peak, axis=0), mask=at < frames)


def peaks(samples: torch.Tensor, frames: int, frame: int) -> torch.Tensor:
    clips = samples.shape[0]
    peak = torch.empty(clips, frames, device=samples.device)
    grid = (triton.cdiv(clips, CLIPS), frames)
    peak_kernel[grid](samples, peak, clips, frames, samples.stride(0), FRAME=frame, CLIPS=CLIPS, num_warps=8)
    out = torch.empty_like(peak)
    normalise_kernel[(clips,)](peak, out, frames, BLOCK=triton.next_power_of_2(frames))
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clips", type=int, default=100)
    parser.add_argument("--samples", type=int, default=1 << 24, help="of a clip, most of which are silence")
    parser.add_argument("--frames", type=int, default=10)
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    samples = torch.zeros(args.clips, args.samples, dtype=torch.float16, device=args.device)
    samples[:, :128] = 0.5
    found = peaks(samples, args.frames, 128)
    print(f"{tuple(found.shape)}: {found[0, 0].item():.1f} and {found[-1, -1].item():.1f} dB")


if __name__ == "__main__":
    main()

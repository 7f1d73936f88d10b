"""Attention pooling of long recordings: a learned query weighs the frames; parts of a recording are pooled apart."""

import os

os.environ["TRITON_INTERPRET"] = "1"

import dataclasses
import itertools

import torch
import triton
import triton.language as tl


@dataclasses.dataclass(frozen=True)
class Tiles:
    """Frames that a program pools, and those it loads at a time."""

    span: int
    frames: int

    def parts(self, length):
        return triton.cdiv(length, self.span)


@triton.jit
def scores_kernel(x, query, scores, length, temperature, WIDTH: tl.constexpr, FRAMES: tl.constexpr):
    frame = tl.program_id(0) * FRAMES + tl.arange(0, FRAMES)
    column = tl.arange(0, WIDTH)
    rows = tl.load(x + frame[:, None] * WIDTH + column[None, :], mask=frame[:, None] < length, other=0.0)
    score = tl.sum(rows * tl.load(query + column)[None, :], axis=1) / temperature
    tl.store(scores + frame, score, mask=frame < length)


@triton.jit
def folded(peak, total, pooled, score, rows):
    """One step of the online softmax: what was summed so far is brought to the new peak."""
    above = tl.maximum(peak, tl.max(score, axis=0))
    shrink = tl.exp(peak - above)
    weight = tl.exp(score - above)
    total = total * shrink + tl.sum(weight, axis=0)
    pooled = pooled + tl.sum(weight[:, None] * rows, axis=0)
    return above, total, pooled


@triton.jit
def pool_kernel(
    x, scores, peaks, totals, sums, length, WIDTH: tl.constexpr, SPAN: tl.constexpr, FRAMES: tl.constexpr,
):
    part = tl.program_id(0)
    column = tl.arange(0, WIDTH)
    peak = float("-inf")
    total = 0.0
    pooled = tl.zeros([WIDTH], tl.float32)
    for start in range(part * SPAN, tl.minimum(part * SPAN + SPAN, length), FRAMES):
        frame = start + tl.arange(0, FRAMES)
        keep = frame < length
        score = tl.load(scores + frame, mask=keep, other=float("-inf"))
        rows = tl.load(x + frame[:, None] * WIDTH + column[None, :], mask=keep[:, None], other=0.0)
        peak, total, pooled = folded(peak, total, pooled, score, rows)
    tl.store(peaks + part, peak)
    tl.store(totals + part, total)
    tl.store(sums + part * WIDTH + column, pooled)


@triton.jit
def merge_kernel(peaks, totals, sums, out, parts, WIDTH: tl.constexpr, PARTS: tl.constexpr):
    part, column = tl.arange(0, PARTS), tl.arange(0, WIDTH)
    keep = part < parts
    peak = tl.load(peaks + part, mask=keep, other=float("-inf"))
    weight = tl.exp(peak - tl.max(peak, axis=0))
    total = tl.sum(weight * tl.load(totals + part, mask=keep, other=0.0), axis=0)
    rows = tl.load(sums + part[:, None] * WIDTH + column[None, :], mask=keep[:, None], other=0.0)
    tl.store(out + column, tl.sum(weight[:, None] * rows, axis=0) / total)


def pool(x, query, tiles, temperature):
    length, width = x.shape
    parts = tiles.parts(length)
    scores, out = x.new_empty(length), x.new_empty(width)
    peaks, totals, sums = x.new_empty(parts), x.new_empty(parts), x.new_empty(parts, width)
    sizes = {"WIDTH": width, "FRAMES": tiles.frames}
    scores_kernel[(triton.cdiv(length, tiles.frames),)](x, query, scores, length, temperature, **sizes)
    pool_kernel[(parts,)](x, scores, peaks, totals, sums, length, SPAN=tiles.span, **sizes)
    merge_kernel[(1,)](peaks, totals, sums, out, parts, WIDTH=width, PARTS=triton.next_power_of_2(parts))
    return out


def main(width=32):
    torch.manual_seed(0)
    query = torch.randn(width)
    for length, tiles in itertools.product((12, 70), (Tiles(16, 16), Tiles(64, 16))):
        x = torch.randn(length, width) * torch.linspace(0.5, 2.0, length)[:, None]  # louder towards the end
        temperature = width**0.5
        expected = torch.softmax(x @ query / temperature, 0) @ x
        error = (pool(x, query, tiles, temperature) - expected).abs().max().item()
        if error > 1e-4:
            raise SystemExit(f"{length} frames, spans of {tiles.span}: pooled vectors are off by {error:.4f}")
        print(f"{length} frames, spans of {tiles.span}: off by {error:.1e}")


if __name__ == "__main__":
    main()

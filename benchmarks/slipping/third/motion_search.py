"""Motion between two frames of a video: each block of the frame is sought in the frame before, within a radius."""

from __future__ import annotations

import sys
from typing import NamedTuple

import torch
import triton
import triton.language as tl


class Plane(NamedTuple):
    """Brightness of a frame; `pitch` is the distance of two rows in elements."""

    data: torch.Tensor
    pitch: int
    height: int
    width: int

    @classmethod
    def blank(cls, height: int, width: int, device: str = "cuda") -> Plane:
        pitch = triton.cdiv(width, 64) * 64
        return cls(torch.zeros(height, pitch, dtype=torch.uint8, device=device), pitch, height, width)

    def fill(self, shift: int) -> Plane:
        ramp = torch.arange(self.width)[None, :] * 3 + torch.arange(self.height)[:, None] * 5 + shift
        self.data[:, : self.width] = (ramp % 256).to(torch.uint8).to(self.data.device)
        return self

    def crop(self, top: int, left: int, height: int, width: int) -> Plane:
        """A part of the plane, in memory of its own."""
        part = self.data[top : top + height, left : left + width].contiguous()
        return self._replace(data=part, height=height, width=width)

    def halved(self) -> Plane:
        small = Plane.blank(self.height // 2, self.width // 2, self.data.device)
        grid = (small.height, triton.cdiv(small.width, 128))
        halve_kernel[grid](self.data, small.data, self.pitch, small.pitch, small.width, BLOCK=128)
        return small


@triton.jit
def halve_kernel(source, target, source_pitch, target_pitch, width, BLOCK: tl.constexpr):
    y = tl.program_id(0)
    x = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    at = source + 2 * y * source_pitch + 2 * x
    keep = x < width
    upper = tl.load(at, mask=keep, other=0).to(tl.int32) + tl.load(at + 1, mask=keep, other=0)
    at += source_pitch
    lower = tl.load(at, mask=keep, other=0).to(tl.int32) + tl.load(at + 1, mask=keep, other=0)
    tl.store(target + y * target_pitch + x, ((upper + lower + 2) // 4).to(tl.uint8), mask=keep)


@triton.jit
def difference(block, before, pitch, y, x, SIDE: tl.constexpr):
    """The sum of absolute differences between a block and the place (y, x) of the frame before."""
    rows, columns = tl.arange(0, SIDE), tl.arange(0, SIDE)
    there = tl.load(before + (y + rows)[:, None] * pitch + (x + columns)[None, :]).to(tl.int32)
    return tl.sum(tl.sum(tl.abs(block - there), axis=1), axis=0)


@triton.jit
def search_kernel(
    now, before, vectors, now_pitch, before_pitch, height, width, across, RADIUS: tl.constexpr, SIDE: tl.constexpr,
):
    top, left = tl.program_id(0) * SIDE, tl.program_id(1) * SIDE
    rows, columns = tl.arange(0, SIDE), tl.arange(0, SIDE)
    block = tl.load(now + (top + rows)[:, None] * now_pitch + (left + columns)[None, :]).to(tl.int32)
    best = difference(block, before, before_pitch, top, left, SIDE)
    best_y, best_x = top * 0, left * 0
    for step in range((2 * RADIUS + 1) * (2 * RADIUS + 1)):
        dy = step // (2 * RADIUS + 1) - RADIUS
        dx = step % (2 * RADIUS + 1) - RADIUS
        y = tl.minimum(tl.maximum(top + dy, 0), height - SIDE)
        x = tl.minimum(tl.maximum(left + dx, 0), width - SIDE)
        error = difference(block, before, before_pitch, y, x, SIDE)
        best_y = tl.where(error < best, y - top, best_y)
        best_x = tl.where(error < best, x - left, best_x)
        best = tl.minimum(error, best)
    at = vectors + (tl.program_id(0) * across + tl.program_id(1)) * 2
    tl.store(at, best_y)
    tl.store(at + 1, best_x)


def motion(now: Plane, before: Plane, radius: int = 4, side: int = 16) -> torch.Tensor:
    down, across = now.height // side, now.width // side
    vectors = torch.empty(down, across, 2, dtype=torch.int32, device=now.data.device)
    search_kernel[(down, across)](
        now.data, before.data, vectors, now.pitch, before.pitch, before.height, before.width, across,
        RADIUS=radius, SIDE=side,
    )
    return vectors


def main(height: int = 96, width: int = 160) -> None:
    before, now = Plane.blank(height, width).fill(0), Plane.blank(height, width).fill(6)
    print("whole", motion(now, before).float().mean((0, 1)).tolist())
    print("halved", motion(now.halved(), before.halved(), radius=2).float().mean((0, 1)).tolist())
    window = (16, 32, 64, 64)
    print("window", motion(now.crop(*window), before.crop(*window)).float().mean((0, 1)).tolist())
    torch.cuda.synchronize()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

"""Unsharp masking of square tiles of a grey image: a blur along each axis, and a kernel that sharpens by it."""

import os

os.environ["TRITON_INTERPRET"] = "1"

import argparse
import math

import torch
import triton
import triton.language as tl
from torch.nn import functional


@triton.jit
def mirrored(at, size):
    """Places beyond an edge are those as far on this side of it."""
    at = tl.abs(at)
    return tl.where(at >= size, 2 * (size - 1) - at, at)


@triton.jit
def blur_kernel(source, target, taps, length, line_stride, step, RADIUS: tl.constexpr, BLOCK: tl.constexpr):
    line = tl.program_id(0) * line_stride
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    keep = at < length
    total = tl.zeros([BLOCK], tl.float32)
    for tap in range(2 * RADIUS + 1):
        place = mirrored(at + tap - RADIUS, length)
        total += tl.load(taps + tap) * tl.load(source + line + place * step, mask=keep, other=0.0)
    tl.store(target + line + at * step, total, mask=keep)


@triton.jit
def sharpen_kernel(image, blurred, out, amount, threshold, size, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = at < size
    value = tl.load(image + at, mask=keep, other=0.0)
    detail = value - tl.load(blurred + at, mask=keep, other=0.0)
    detail = tl.where(tl.abs(detail) < threshold, 0.0, detail)
    tl.store(out + at, tl.minimum(tl.maximum(value + amount * detail, 0.0), 1.0), mask=keep)


class Blur:
    """A Gaussian of so many pixels, in two passes."""

    def __init__(self, sigma, block=32):
        self.radius, self.block = math.ceil(2 * sigma), block
        taps = torch.exp(-torch.arange(-self.radius, self.radius + 1).square() / (2 * sigma**2))
        self.taps = taps / taps.sum()

    def along(self, image, axis):
        """One pass: each program blurs a part of one line that runs along the axis."""
        out = torch.empty_like(image)
        turned = image.transpose(axis, -1)
        lines, length = turned.shape
        line_stride, step = image.stride()
        blur_kernel[(lines, triton.cdiv(length, self.block))](
            image, out, self.taps, length, line_stride, step, RADIUS=self.radius, BLOCK=self.block,
        )
        return out

    def __call__(self, image):
        return self.along(self.along(image, -1), 0)

    def reference(self, image):
        padded = functional.pad(image[None, None], [self.radius] * 4, mode="reflect")
        rows = functional.conv2d(padded, self.taps.view(1, 1, 1, -1))
        return functional.conv2d(rows, self.taps.view(1, 1, -1, 1))[0, 0]


def sharpened(image, blurred, amount=0.8, threshold=0.01):
    out = torch.empty_like(image)
    size = image.numel()
    sharpen_kernel[(triton.cdiv(size, 256),)](image, blurred, out, amount, threshold, size, BLOCK=256)
    return out


def tile(side, seed):
    """A disc on a ramp, with a little noise."""
    generator = torch.Generator().manual_seed(seed)
    y, x = torch.meshgrid(torch.linspace(-1, 1, side), torch.linspace(-1, 1, side), indexing="ij")
    return (0.4 + 0.2 * x + 0.3 * (x**2 + y**2 < 0.3) + 0.02 * torch.randn(side, side, generator=generator)).clamp(0, 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sides", type=int, nargs="+", default=[24, 40])
    parser.add_argument("--sigma", type=float, default=1.5)
    args = parser.parse_args()
    blur = Blur(args.sigma)
    for seed, side in enumerate(args.sides):
        image = tile(side, seed)
        result = sharpened(image, blur(image), threshold=0.0)
        blurred = blur.reference(image)
        error = (result - (image + 0.8 * (image - blurred)).clamp(0, 1)).abs().max().item()
        if error > 1e-4:
            raise RuntimeError(f"the tile of {side} differs from the reference by {error:.4f}")
        print(f"{side}: details up to {(image - blurred).abs().max():.3f}")


if __name__ == "__main__":
    main()

"""Crops of images, resized by the nearest neighbour; what lies outside the image is grey."""

from dataclasses import dataclass

import torch
import triton
import triton.language as tl


@dataclass(frozen=True)
class Box:
    top: int
    left: int
    height: int
    width: int


@triton.constexpr_function
def plane(channels, size):
    return channels * size


@triton.jit
def inside(y, x, height, width):
    return (y >= 0) & (y < height) & (x >= 0) & (x < width)


@triton.jit
def nearest(at, begin, extent, SIZE: tl.constexpr):
    return begin + at * extent // SIZE


@triton.jit
def crop_kernel(image, boxes, out, height, width, channel_stride, SIZE: tl.constexpr, CHANNELS: tl.constexpr):
    which = tl.program_id(0)
    channel = tl.program_id(1)
    top = tl.load(boxes + which * 4)
    left = tl.load(boxes + which * 4 + 1)
    tall = tl.load(boxes + which * 4 + 2)
    wide = tl.load(boxes + which * 4 + 3)
    y = nearest(tl.arange(0, SIZE), top, tall, SIZE)[:, None]
    x = nearest(tl.arange(0, SIZE), left, wide, SIZE)[None, :]
    live = inside(y, x, width, height)
    value = tl.load(image + channel * channel_stride + y * width + x, mask=live, other=0.5)
    rows, cols = tl.arange(0, SIZE)[:, None], tl.arange(0, SIZE)[None, :]
    base = which * plane(CHANNELS, SIZE * SIZE) + channel * SIZE * SIZE
    tl.store(out + base + rows * SIZE + cols, value)


@triton.jit
def mean_kernel(crops, out, PIXELS: tl.constexpr):
    at = tl.arange(0, PIXELS)
    value = tl.load(crops + tl.program_id(0) * PIXELS + at)
    tl.store(out + tl.program_id(0), tl.sum(value, axis=0) / PIXELS)


class Cropper:
    SIZE = 16

    def __init__(self, image: torch.Tensor):
        self.image = image

    def __call__(self, boxes: list[Box]) -> torch.Tensor:
        channels, height, width = self.image.shape
        table = torch.tensor([[b.top, b.left, b.height, b.width] for b in boxes], dtype=torch.int32, device="cuda")
        out = torch.empty(len(boxes), channels, self.SIZE, self.SIZE, device="cuda")
        crop_kernel[(len(boxes), channels)](
            self.image, table, out, height, width, self.image.stride(0), SIZE=self.SIZE, CHANNELS=channels
        )
        means = torch.empty(len(boxes), channels, device="cuda")
        mean_kernel[(len(boxes) * channels,)](out, means, PIXELS=self.SIZE * self.SIZE)
        return means


def main() -> None:
    for shape in ((3, 64, 64), (1, 48, 48), (3, 40, 90)):
        crop = Cropper(torch.rand(*shape, device="cuda"))
        bottom = shape[1] - 20
        means = crop([Box(0, 0, 16, 16), Box(-4, -4, 32, 32), Box(bottom, 10, 40, 24)])
        torch.cuda.synchronize()
        print(shape, means.shape)


if __name__ == "__main__":
    main()

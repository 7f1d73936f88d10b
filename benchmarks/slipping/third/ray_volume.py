"""Views of a scanned volume along its depth: the brightest voxel, the mean, and the first one above a threshold."""

import enum
import logging
from contextlib import contextmanager

import torch
import triton
import triton.language as tl

log = logging.getLogger("views")


class View(enum.IntEnum):
    BRIGHTEST = 0
    MEAN = 1
    SURFACE = 2


@triton.jit
def voxel(x, y, z, height, width):
    """Where a voxel lies: the depth is the slowest axis."""
    return (z * height + y) * width + x


@triton.jit
def column_of(WIDE: tl.constexpr):
    x = tl.program_id(0) * WIDE + tl.arange(0, WIDE)
    return x, tl.program_id(1)


@triton.jit
def paint_kernel(volume, marks, amount, height, width, radius, BLOCK: tl.constexpr):
    """Small bright bars where a scan has its marks; each has its voxel's address and its brightness."""
    mark = tl.program_id(0)
    place = tl.load(marks + 2 * mark)
    bright = tl.load(marks + 2 * mark + 1).to(tl.uint8)
    along = tl.arange(0, BLOCK)
    tl.store(volume + place + along, bright, mask=(along < radius) & (mark < amount))


@triton.jit
def view_kernel(
    volume, image, first, last, step, height, width, threshold, VIEW: tl.constexpr, WIDE: tl.constexpr,
):
    x, y = column_of(WIDE)
    keep = x < width
    if VIEW == 2:
        seen = tl.full([WIDE], -1.0, tl.float32)
    else:
        seen = tl.zeros([WIDE], tl.float32)
    for z in range(first, last, step):
        value = tl.load(volume + voxel(x, y, z, height, width), mask=keep, other=0).to(tl.float32)
        if VIEW == 0:
            seen = tl.maximum(seen, value)
        elif VIEW == 1:
            seen += value * step / (last - first)
        else:
            seen = tl.where((seen < 0) & (value > threshold), z.to(tl.float32), seen)
    tl.store(image + y * width + x, seen, mask=keep)


@triton.jit
def stretch_kernel(image, lowest, highest, amount, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(image + at, mask=at < amount, other=0.0)
    tl.store(image + at, (value - lowest) / (highest - lowest), mask=at < amount)


@contextmanager
def timed(what):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    yield
    end.record()
    torch.cuda.synchronize()
    log.info("%s: %.2f ms", what, begin.elapsed_time(end))


class Scan:
    def __init__(self, depth, height, width):
        self.shape = depth, height, width
        self.voxels = torch.empty(depth, height, width, dtype=torch.uint8, device="cuda")

    def mark(self, places, radius=4):
        _, height, width = self.shape
        rows = [[(z * height + y) * width + x, bright] for z, y, x, bright in places]
        marks = torch.tensor(rows, dtype=torch.int64).cuda()
        paint_kernel[(len(rows),)](self.voxels, marks, len(rows), height, width, radius, BLOCK=8)

    def view(self, view, slab=None, threshold=100, step=1):
        depth, height, width = self.shape
        first, last = slab or (0, depth)
        image = torch.empty(height, width, device="cuda")
        grid = (triton.cdiv(width, 256), height)
        view_kernel[grid](
            self.voxels, image, first, last, step, height, width, threshold, VIEW=int(view), WIDE=256,
        )
        if view is not View.SURFACE:
            stretch_kernel[(triton.cdiv(image.numel(), 1024),)](image, 0.0, 255.0, image.numel(), BLOCK=1024)
        return image


def main():
    logging.basicConfig(level=logging.INFO)
    for depth in (96, 1400):
        scan = Scan(depth, 1280, 1280)
        scan.mark([(depth // 2, 640, 640, 200), (depth - 1, 10, 20, 255)])
        for view in View:
            with timed(f"{depth} slices, {view.name.lower()}"):
                scan.view(view, slab=(depth - 32, depth), step=8)


if __name__ == "__main__":
    main()

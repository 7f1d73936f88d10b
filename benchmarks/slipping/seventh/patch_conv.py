"""A small convolutional net by im2col: patches are gathered into rows, and a tiled product applies the filters."""

from __future__ import annotations

import logging
from typing import NamedTuple

import torch
import triton
import triton.language as tl

log = logging.getLogger("patch_conv")

TILES = {
    "few": {"ROWS": 64, "COLUMNS": 32, "K": 32, "num_stages": 3, "num_warps": 4},
    "many": {"ROWS": 128, "COLUMNS": 64, "K": 32, "num_stages": 3, "num_warps": 4},
}


class Shape(NamedTuple):
    """What a convolution sees, and what comes out of it."""

    channels: int
    height: int
    width: int
    side: int
    stride: int

    @property
    def out_height(self) -> int:
        return (self.height - self.side) // self.stride + 1

    @property
    def out_width(self) -> int:
        return (self.width - self.side) // self.stride + 1

    @property
    def depth(self) -> int:
        return self.channels * self.side * self.side


def tile_for(filters: int, dtype: torch.dtype) -> dict:
    """Tiles by the number of filters; half precision has room for deeper ones and one stage more."""
    tile = TILES["few" if filters < 64 else "many"]
    if dtype == torch.float16:
        tile.update(K=64, num_stages=tile["num_stages"] + 1)
        if filters >= 128:
            tile.update(COLUMNS=128)
    return tile


@triton.jit
def patches_kernel(
    image, rows, channels, height, width, out_height, out_width, stride, depth,
    SIDE: tl.constexpr, BLOCK: tl.constexpr,
):
    """One row: what the filters see at one place of the output."""
    place = tl.program_id(0)
    picture = place // (out_height * out_width)
    top = place // out_width % out_height * stride
    left = place % out_width * stride
    k = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    keep = k < depth
    channel, row, column = k // (SIDE * SIDE), top + k // SIDE % SIDE, left + k % SIDE
    at = ((picture * channels + channel) * height + row) * width + column
    tl.store(rows + place * depth + k, tl.load(image + at, mask=keep, other=0.0), mask=keep)


@triton.jit
def filters_kernel(
    rows, filters, bias, out, places, depth, amount,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, K: tl.constexpr,
):
    place = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros([ROWS, COLUMNS], tl.float32)
    for start in range(0, depth, K):
        k = start + tl.arange(0, K)
        a_keep = (place[:, None] < places) & (k[None, :] < depth)
        b_keep = (k[:, None] < depth) & (column[None, :] < amount)
        a = tl.load(rows + place[:, None] * depth + k[None, :], mask=a_keep, other=0.0)
        b = tl.load(filters + k[:, None] * amount + column[None, :], mask=b_keep, other=0.0)
        total = tl.dot(a, b, total)
    total += tl.load(bias + column, mask=column < amount, other=0.0)[None, :]
    total = tl.maximum(total, 0.0)
    keep = (place[:, None] < places) & (column[None, :] < amount)
    tl.store(out + place[:, None] * amount + column[None, :], total.to(out.dtype.element_ty), mask=keep)


class Conv:
    def __init__(self, shape: Shape, filters: int, dtype: torch.dtype) -> None:
        self.shape, self.amount, self.dtype = shape, filters, dtype
        self.filters = (torch.randn(shape.depth, filters) / shape.depth**0.5).to("cuda", dtype)
        self.bias = torch.zeros(filters, device="cuda")
        self.tile = tile_for(filters, dtype)

    def __call__(self, images: torch.Tensor) -> torch.Tensor:
        shape, images = self.shape, images.to(self.dtype).contiguous()
        places = images.shape[0] * shape.out_height * shape.out_width
        rows = torch.empty(places, shape.depth, dtype=self.dtype, device="cuda")
        patches_kernel[(places, triton.cdiv(shape.depth, 128))](
            images, rows, *shape[:3], shape.out_height, shape.out_width, shape.stride, shape.depth,
            SIDE=shape.side, BLOCK=128,
        )
        out = torch.empty(places, self.amount, dtype=self.dtype, device="cuda")
        grid = triton.cdiv(places, self.tile["ROWS"]), triton.cdiv(self.amount, self.tile["COLUMNS"])
        filters_kernel[grid](rows, self.filters, self.bias, out, places, shape.depth, self.amount, **self.tile)
        return out.view(-1, shape.out_height, shape.out_width, self.amount).permute(0, 3, 1, 2)


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    stem, body = Shape(16, 18, 18, 3, 1), Shape(64, 16, 16, 3, 1)
    head = Shape(128, 14, 14, 3, 2)
    layers = {"stem": (stem, 64, torch.float32), "body": (body, 128, torch.float16), "head": (head, 64, torch.float32)}
    images = torch.randn(2, 16, 18, 18, device="cuda")
    for name, (shape, filters, dtype) in layers.items():
        images = Conv(shape, filters, dtype)(images)
        torch.cuda.synchronize()
        log.info("%s: %s in %s", name, tuple(images.shape), images.dtype)


if __name__ == "__main__":
    main()

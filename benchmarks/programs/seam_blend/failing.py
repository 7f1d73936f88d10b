"""Blends overlapping image tiles along their seams: a weight window, a normalisation by its binomial sum, a box blur.

The kernel that normalises has two loops, over the tiles of a row and over the taps of the window. The autotune list of
an earlier version is kept as a table of options, one of which flattens the nest.
"""

import json
import os
import random
from dataclasses import asdict, dataclass
from typing import Callable, Iterable, Optional

import torch
import triton
import triton.language as tl


@dataclass
class Window:
    order: int
    scale: float = 1.0

    def weights(self) -> list[float]:
        row = [1]
        for _ in range(self.order):
            row = [1] + [a + b for a, b in zip(row, row[1:])] + [1]
        return [self.scale * value / sum(row) for value in row]


@dataclass
class Job:
    name: str
    width: int
    height: int
    order: int = 3
    tile: int = 32


def parse_jobs(text: str) -> list[Job]:
    return [Job(**entry) for entry in json.loads(text)]


JOBS = parse_jobs(
    """[
    {"name": "thumbnail", "width": 64, "height": 8},
    {"name": "banner", "width": 200, "height": 4, "order": 4, "tile": 64},
    {"name": "poster", "width": 96, "height": 16, "order": 2}
    ]"""
)


@triton.jit
def blur_kernel(x_ptr, out_ptr, width, RADIUS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros([BLOCK], tl.float32)
    for shift in tl.static_range(-RADIUS, RADIUS + 1):
        at = cols + shift
        acc += tl.load(x_ptr + row * width + at, mask=(at >= 0) & (at < width), other=0.0)
    tl.store(out_ptr + row * width + cols, acc / (2 * RADIUS + 1), mask=cols < width)


@triton.jit
def seam_kernel(left_ptr, right_ptr, window_ptr, out_ptr, width, overlap, BLOCK: tl.constexpr):
    """The last `overlap` columns of one tile and the first of the next, crossfaded."""
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    inside = cols < overlap
    left = tl.load(left_ptr + row * width + width - overlap + cols, mask=inside, other=0.0)
    right = tl.load(right_ptr + row * width + cols, mask=inside, other=0.0)
    weight = tl.load(window_ptr + cols, mask=inside, other=0.0)
    tl.store(out_ptr + row * overlap + cols, left * (1 - weight) + right * weight, mask=inside)


@triton.jit
def normalize_kernel(
    x_ptr, out_ptr, width, tiles, order, gain, TILE: tl.constexpr, FLATTEN: tl.constexpr, CLAMP: tl.constexpr
):
    row = tl.program_id(0)
    for tile in tl.range(0, tiles, flatten=FLATTEN):
        norm = 1
        for tap in range(order):
            norm = norm * (order - tap) + 1
        cols = tile * TILE + tl.arange(0, TILE)
        x = tl.load(x_ptr + row * width + cols, mask=cols < width, other=0.0)
        y = x * gain / norm
        if CLAMP:
            y = tl.minimum(tl.maximum(y, 0.0), 1.0)
        tl.store(out_ptr + row * width + cols, y, mask=cols < width)


def blur(x: torch.Tensor, radius: int = 1) -> torch.Tensor:
    out = torch.zeros_like(x)
    blur_kernel[(x.shape[0], triton.cdiv(x.shape[1], 64))](x, out, x.shape[1], RADIUS=radius, BLOCK=64)
    return out


def seam(left: torch.Tensor, right: torch.Tensor, window: Window) -> torch.Tensor:
    weights = torch.tensor(window.weights(), device=left.device).cumsum(0)
    out = torch.zeros(left.shape[0], weights.numel(), device=left.device)
    seam_kernel[(left.shape[0],)](
        left, right, weights, out, left.shape[1], weights.numel(), BLOCK=triton.next_power_of_2(weights.numel())
    )
    return out


OPTIONS = [
    dict(FLATTEN=False, CLAMP=False),
    dict(FLATTEN=False, CLAMP=True, num_warps=2),
    dict(FLATTEN=True, CLAMP=True),
]


def normalize(x: torch.Tensor, job: Job, window: Window, options: Optional[dict] = None) -> torch.Tensor:
    out = torch.zeros_like(x)
    tiles = triton.cdiv(job.width, job.tile)
    normalize_kernel[(job.height,)](
        x, out, job.width, tiles, window.order, window.scale, TILE=job.tile, **(options or OPTIONS[0])
    )
    return out


STEPS: dict[str, Callable[..., torch.Tensor]] = {"blur": blur, "normalize": normalize}


def run(job: Job, options: Iterable[dict]) -> None:
    window = Window(job.order)
    x = torch.rand(job.height, job.width, device="cuda")
    x = STEPS["blur"](x)
    edge = seam(x, x.flip(1).contiguous(), window)
    for each in options:
        y = STEPS["normalize"](x, job, window, each)
        torch.cuda.synchronize()
        print(asdict(job), each, tuple(y.shape), round(float(edge.mean()), 3))


if __name__ == "__main__":
    seed = int(os.environ.get("SEAM_SEED", "0"))
    torch.manual_seed(seed)
    chosen = JOBS if not os.environ.get("SEAM_ONE") else [random.Random(seed).choice(JOBS)]
    for job in chosen:
        run(job, OPTIONS)
